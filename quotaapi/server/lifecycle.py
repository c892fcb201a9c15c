"""Start, serve, stop.

Start: certificates, embedded etcd, storage, the port, and everything in the background. The port is
open before the watch cache is filled: /readyz says so meanwhile.

Stop (SIGTERM, SIGINT), in this order, so that nothing is lost that was begun:

1. /readyz fails; the controllers end, and another replica may lead; watches end, with a last
   bookmark; no connection is accepted any more.
2. Running requests get `--shutdown-grace`; writes whose client has left, too.
3. Admission finishes its batches, then what feeds and writes to etcd is cancelled.
4. The connections to etcd are closed, the embedded etcd ends.
"""

import asyncio
import gc
import logging
import signal
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any

import uvloop

from quotaapi.auth.interface import ClusterAccessError
from quotaapi.auth.tokens import TokenFileError
from quotaapi.config import Config
from quotaapi.server.composition import Phase, Server, build, utc_now
from quotaapi.server.entrance import Entrance, Questions, build_entrance
from quotaapi.server.listener import Listener
from quotaapi.server.persistence import Storage, build_storage
from storage.etcd.embedded import EmbeddedEtcd, EmbeddedEtcdError

_log = logging.getLogger(__name__)

_ETCD_DIRECTORY = "etcd"


def run(config: Config) -> int:
    """Serve until a signal; the exit code."""
    logging.basicConfig(
        level=config.log_level, format="%(asctime)s %(levelname).1s %(name)s: %(message)s"
    )
    code = 0
    try:
        uvloop.run(_serve(config))
    except* (OSError, TokenFileError, ClusterAccessError, EmbeddedEtcdError) as faults:
        # What the operator can mend needs no trace.
        for fault in _flat(faults):
            _log.error("cannot serve: %s", fault)
        code = 1
    return code


def _flat(group: BaseExceptionGroup[Exception]) -> Sequence[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


async def _serve(config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
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
            await _run_server(config, storage, etcd, stop)
    _log.info("stopped")


async def _run_server(
    config: Config,
    storage: Storage,
    etcd: EmbeddedEtcd | None,
    stop: asyncio.Event,
) -> None:
    phase = Phase()
    async with AsyncExitStack() as ending, asyncio.TaskGroup() as tasks:
        questions = Questions(tasks)
        entrance = await build_entrance(config, utc_now, questions, ending)
        server = build(config, storage, tasks, phase, entrance.access)
        listener = Listener(server.handler, entrance.serving.context)
        # What exists by now lives as long as the server. Python's collector need not look at it
        # each time, which would take it 50 ms, with everybody waiting.
        gc.collect()
        gc.freeze()
        background = _start(tasks, server, entrance, etcd)
        admission = tasks.create_task(server.evaluator.run(), name="admission")
        duties = tasks.create_task(server.duties.run(), name="controllers")
        try:
            port = await listener.start(config.bind_address, config.secure_port)
            entrance.announce(port)
            await stop.wait()
        finally:
            # Also where a background task failed: what was begun is finished as far as it can be.
            phase.stopping = True
            _log.info("stopping")
            duties.cancel()
            await _finish_requests(server, listener, config.shutdown_grace_seconds)
            server.evaluator.close()
            await asyncio.wait((admission,), timeout=config.admission_timeout_seconds)
            questions.cancel()
            for task in (admission, *background):
                task.cancel()


def _start(
    tasks: asyncio.TaskGroup, server: Server, entrance: Entrance, etcd: EmbeddedEtcd | None
) -> list["asyncio.Task[None]"]:
    storage = server.storage
    running: dict[str, Coroutine[Any, Any, None]] = {
        "group commit": storage.group_commit.run(),
        "reflector": storage.stack.reflector.run(),
        "compaction": storage.compaction.run(),
        "etcd probe": server.probe.run(),
        "pulse": server.pulse.run(),
        "serving certificates": entrance.serving.run(),
        **{name: run() for name, run in entrance.access.running.items()},
    }
    if etcd is not None:
        running["embedded etcd"] = etcd.run()
    return [tasks.create_task(coroutine, name=name) for name, coroutine in running.items()]


async def _finish_requests(server: Server, listener: Listener, grace_seconds: float) -> None:
    server.watches.end()
    await listener.stop(grace_seconds)
    if not await server.mutations.wait_idle(grace_seconds):
        _log.warning("%d writes are still running and are cut off", server.mutations.running)
