"""Start, serve, stop.

Start: certificates, embedded etcd, storage, the port, and everything in the background. The port is
open before the watch cache is filled: /readyz says so meanwhile.

Stop (SIGTERM, SIGINT, SIGHUP), in this order, so that nothing is lost that was begun:

1. /readyz fails; the controllers end, and another replica may lead; watches end, with a last
   bookmark; no connection is accepted any more.
2. Running requests get `--shutdown-grace`, then their connections end; writes that still run get as
   long again. The supervisor and hack/deploy count on these two graces.
3. Admission finishes its batches, then what feeds and writes to etcd is cancelled.
4. The connections to etcd are closed, the embedded etcd ends.

A worker of several starts and stops the same way. Its port and its etcd are the supervisor's.
"""

import asyncio
import logging
import time
from contextlib import AsyncExitStack

import uvloop

from quotaapi.config import Config
from quotaapi.registry.heavy import make_way_for_the_loop
from quotaapi.server import collection
from quotaapi.server.announcement import announce
from quotaapi.server.composition import Phase, Server, build, utc_now
from quotaapi.server.entrance import Entrance, Questions, build_entrance
from quotaapi.server.handover import Handover, share
from quotaapi.server.heap import Heap, find_trim, keep_large_apart
from quotaapi.server.listener import Listener
from quotaapi.server.member import Member
from quotaapi.server.persistence import Storage, build_storage
from quotaapi.server.program import execute, stop_at_signals
from storage.etcd.embedded import EmbeddedEtcd

_log = logging.getLogger(__name__)

_ETCD_DIRECTORY = "etcd"


def run(config: Config, handover: Handover | None = None) -> int:
    """Serve until a signal; the exit code. `handover`: as one worker of several."""
    who = ""
    if handover is not None:
        config, who = share(config, handover), f"worker {handover.number} "
    serving = _serve(config, handover)
    return execute(serving, uvloop.run, config, who)


async def _serve(config: Config, handover: Handover | None) -> int:
    stop = asyncio.Event()
    stop_at_signals(stop)
    member = None
    if handover is not None:
        member = Member(handover, stop)
        member.attach()
    async with AsyncExitStack() as ending:  # ends what is below last
        endpoints, etcd = config.etcd_servers, None
        if config.embedded_etcd:
            etcd = EmbeddedEtcd(config.data_dir / _ETCD_DIRECTORY)
            await etcd.start()
            ending.push_async_callback(etcd.stop)
            endpoints = (etcd.endpoint,)
        storage = build_storage(config, endpoints)
        ending.push_async_callback(storage.client.close)
        if not stop.is_set():
            await _run_server(config, storage, etcd, stop, member)
    _log.info("stopped")
    return 0


async def _run_server(
    config: Config,
    storage: Storage,
    etcd: EmbeddedEtcd | None,
    stop: asyncio.Event,
    member: Member | None,
) -> None:
    phase = Phase()
    async with AsyncExitStack() as ending, asyncio.TaskGroup() as tasks:
        # First, so that the supervisor can tell a worker that hangs while it starts.
        reports = [tasks.create_task(member.run(), name="member")] if member is not None else []
        questions = Questions(tasks)
        entrance = await build_entrance(config, utc_now, questions, ending)
        gather = member.gather if member is not None else None
        make_way_for_the_loop()
        keep_large_apart()
        server = build(config, storage, tasks, phase, entrance.access, gather)
        ending.callback(server.heavy.close)
        listener = Listener(server.handler, entrance.serving.context)
        collection.begin()
        background = [*reports, *_start(tasks, server, entrance, etcd)]
        heap = Heap(time.process_time, find_trim())
        background.append(tasks.create_task(heap.run(), name="heap"))
        admission = tasks.create_task(server.evaluator.run(), name="admission")
        duties = tasks.create_task(_run_duties(server), name="controllers")
        try:
            await _open(config, server, listener, member, tasks)
            await stop.wait()
        finally:
            # Also where a background task failed: what was begun is finished as far as it can be.
            phase.stopping = True
            _log.info("stopping")
            if member is not None:
                member.leave()
            duties.cancel()
            await _finish_requests(server, listener, config.shutdown_grace_seconds)
            server.evaluator.close()
            await asyncio.wait((admission,), timeout=config.admission_timeout_seconds)
            questions.cancel()
            for task in (admission, *background):
                task.cancel()
            # Else each of those that wait for each other would still be worked on in its turn.
            server.mutations.cut_off()


async def _open(
    config: Config,
    server: Server,
    listener: Listener,
    member: Member | None,
    tasks: asyncio.TaskGroup,
) -> None:
    """From here on connections come: to the port, or from the supervisor."""
    if member is None:
        port = await listener.start(config.bind_address, config.secure_port)
        announce(config, port)
        return
    await member.join(
        listener, tasks, numbers=server.numbers, ready=lambda: server.health.passes("readyz")
    )


def _start(
    tasks: asyncio.TaskGroup,
    server: Server,
    entrance: Entrance,
    etcd: EmbeddedEtcd | None,
) -> list["asyncio.Task[None]"]:
    storage = server.storage
    running = {
        "group commit": storage.group_commit.run(),
        "reflector": storage.stack.reflector.run(),
        "collection": collection.freeze_after(storage.stack.reflector.filled),
        "compaction": storage.compaction.run(),
        "etcd probe": server.probe.run(),
        "pulse": server.pulse.run(),
        "certificates": entrance.run(),
        **{name: run() for name, run in entrance.access.running.items()},
    }
    if etcd is not None:
        running["embedded etcd"] = etcd.run()
    return [tasks.create_task(coroutine, name=name) for name, coroutine in running.items()]


async def _run_duties(server: Server) -> None:
    """Once the watch cache is filled: their first recount reads all of etcd, too, and would make
    /readyz wait twice as long."""
    await server.storage.stack.reflector.filled.wait()
    await server.duties.run()


async def _finish_requests(server: Server, listener: Listener, grace_seconds: float) -> None:
    server.watches.end()
    await listener.stop(grace_seconds)
    if not await server.mutations.wait_idle(grace_seconds):
        _log.warning("%d writes are still running and are cut off", server.mutations.running)
