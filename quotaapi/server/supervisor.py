"""`--workers N`: the process that operators know, and N that it starts, each a whole server.

It holds what there must be one of: the port, the embedded etcd, the certificates. It starts itself
again, N times, with the same command line and a handover (server.handover): a fresh interpreter,
since a process with a running loop and threads cannot be forked safely. Between them the workers
share nothing but etcd: they are replicas (docs/decisions/0017).

A worker that ends is started again, at once and then ever later; the others serve meanwhile. Where
none has ever served, the configuration is to blame, and its exit code is the supervisor's. A worker
that lives and reports nothing is killed. When the supervisor is gone, the workers see the end of
their channels and end, too, and the kernel ends etcd.

Stop (SIGTERM, SIGINT, SIGHUP): the port is closed; all workers stop at the same time, each as a server does
alone (server.lifecycle); etcd ends last.
"""

import asyncio
import logging
import os
import socket
import sys
import time
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from typing import Final

from quotaapi import tls
from quotaapi.config import Config
from quotaapi.server.announcement import announce
from quotaapi.server.census import Census
from quotaapi.server.channel import Channel, Message, pair
from quotaapi.server.distributor import Distributor, Place
from quotaapi.server.handover import Handover
from quotaapi.server.listener import bound
from quotaapi.server.program import execute, stop_at_signals
from storage.etcd.embedded import EmbeddedEtcd

_log = logging.getLogger(__name__)

_ETCD_DIRECTORY: Final = "etcd"
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 5.0
_SETTLED_SECONDS: Final = 60.0
"""A worker that ran for so long is started again at once."""

_TICK_SECONDS: Final = 1.0
_SILENT_TICKS: Final = 30
"""Then a worker is taken for stuck. Ticks of the supervisor's own, so that a machine that was
suspended does not find all its workers silent."""

_STARTING_TICKS: Final = 120
"""As many for one that has not reported at all yet, once another has shown that this can be done."""

_ENDING_SECONDS: Final = 10.0
"""What stopping a worker takes beside the graces of its requests, at most."""


def run(config: Config) -> int:
    """Serve until a signal; the exit code."""
    return execute(_supervise(config), asyncio.run, config, "supervisor ")


async def _supervise(config: Config) -> int:
    stop = asyncio.Event()
    stop_at_signals(stop)
    # First of all: a port that is in use, or not ours to use, is said before anything is started.
    distributor = Distributor(bound(config.bind_address, config.secure_port))
    # Two groups: whatever fails among the other tasks, the workers are ended in order.
    async with (
        AsyncExitStack() as ending,
        asyncio.TaskGroup() as keeping,
        asyncio.TaskGroup() as tasks,
    ):
        ending.callback(distributor.close)
        etcd, background = "", []
        _ensure_certificates(config)
        if config.embedded_etcd:
            embedded = EmbeddedEtcd(config.data_dir / _ETCD_DIRECTORY)
            await embedded.start()
            ending.push_async_callback(embedded.stop)
            background.append(tasks.create_task(embedded.run(), name="embedded etcd"))
            etcd = embedded.endpoint
        workers = Workers(config, distributor, etcd, stop, tasks)
        background.append(tasks.create_task(workers.watch(), name="watch over workers"))
        try:
            workers.start(keeping)
            await _first(workers.served, stop)
            if not stop.is_set():
                distributor.open()
                announce(config, distributor.port)
            await stop.wait()
        finally:
            _log.info("stopping")
            distributor.close()
            await workers.stop()
            for task in background:
                task.cancel()
    _log.info("stopped")
    return workers.code


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        # Nothing that this function has started outlives it.
        await asyncio.wait(waits)


def _ensure_certificates(config: Config) -> None:
    """Once, and before every start of a worker, which then finds nothing to make."""
    if not config.delegated or config.tls_cert_file is None:
        tls.ensure(config.data_dir, config.bind_address, lambda: datetime.now(UTC))


class Workers:
    """`start`, and `watch` over them in a task; `stop` at the end. `code`: then to exit with.

    `served` is set when the first one serves.
    """

    def __init__(
        self,
        config: Config,
        distributor: Distributor,
        etcd: str,
        stop: asyncio.Event,
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`etcd`: where the embedded one is. `stop` is set when no worker can start.
        `tasks` owns the rounds of the census."""
        self.code = 0
        self.served = asyncio.Event()
        self._config = config
        self._distributor = distributor
        self._etcd = etcd
        self._stop = stop
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._restarts = dict.fromkeys(range(config.workers), 0)
        self._keeping: list[asyncio.Task[None]] = []
        self._census = Census(config.workers, distributor.places, lambda: self._restarts, tasks)

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self._keeping = [
            tasks.create_task(self._keep(number), name=f"worker {number}")
            for number in range(self._config.workers)
        ]

    async def watch(self) -> None:
        """Kill workers that live and do not work: nobody else could tell, since the others answer."""
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            for place in self._distributor.places:
                if place.ticks is None:
                    place.starting_ticks += self.served.is_set()
                    is_silent = place.starting_ticks == _STARTING_TICKS
                else:
                    place.ticks += 1
                    is_silent = place.ticks == _SILENT_TICKS
                if is_silent:
                    _log.error("worker %d is silent and is killed", place.number)
                    self._signal(place.number, kill=True)

    async def stop(self) -> None:
        """End all of them, politely, then at once."""
        self._stop.set()
        for number in self._processes:
            self._signal(number, kill=False)
        config = self._config
        graces = 2 * config.shutdown_grace_seconds + config.admission_timeout_seconds
        if self._keeping:
            _, late = await asyncio.wait(self._keeping, timeout=graces + _ENDING_SECONDS)
            for number in self._processes:
                _log.error("worker %d does not end and is killed", number)
                self._signal(number, kill=True)
            if late:
                await asyncio.wait(late)

    async def _keep(self, number: int) -> None:
        """Start a worker again whenever it ends, until `stop`."""
        pause_seconds = _FIRST_PAUSE_SECONDS
        while not self._stop.is_set():
            started = time.monotonic()
            code = await self._live(number)
            if self._stop.is_set():
                return
            if not self.served.is_set():
                _log.error("worker %d ended (%d) before any has served", number, code)
                self.code = code if code > 0 else 1
                self._stop.set()
                return
            if time.monotonic() - started > _SETTLED_SECONDS:
                pause_seconds = _FIRST_PAUSE_SECONDS
            _log.warning("worker %d ended (%d), it is started again", number, code)
            self._restarts[number] += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_seconds):
                    await self._stop.wait()
            pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)

    async def _live(self, number: int) -> int:
        """One process of a worker, from its start to its end; how it ended."""
        mine, theirs = pair()
        place = Place(number, Channel(mine))
        try:
            _ensure_certificates(self._config)
            handover = Handover(number, theirs.fileno(), self._etcd)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, *sys.orig_argv[1:]),
                stdin=asyncio.subprocess.DEVNULL,
                env={**os.environ, **handover.environment()},
                pass_fds=(theirs.fileno(),),
                # A terminal's Ctrl-C is for the supervisor, which ends the workers.
                start_new_session=True,
            )
        # No process, no descriptor, no room for certificates, or a key that cannot be read: may pass.
        except (OSError, ValueError) as error:
            _log.error("worker %d cannot be started: %s", number, error)
            place.channel.close()
            return 1
        finally:
            theirs.close()
        place.channel.listen(
            lambda message, connection: self._heard(place, message, connection), lambda: None
        )
        self._distributor.seat(place)
        self._processes[number] = process
        if self._stop.is_set():  # it came while this one was started
            self._signal(number, kill=False)
        try:
            return await process.wait()
        finally:
            self._signal(number, kill=False)  # where this task was cancelled
            del self._processes[number]
            place.channel.close()
            self._distributor.vacate(place)
            self._census.ended(number)

    def _heard(self, place: Place, message: Message, connection: socket.socket | None) -> None:
        if "ask" in message:
            self._census.asked(place)
        elif "collected" in message:
            self._census.told(place, message)
        else:
            self._distributor.reported(place, message)
            if place.serving:
                self.served.set()
        if connection is not None:  # it came too late for a worker that is about to end
            self._distributor.hand(connection)

    def _signal(self, number: int, *, kill: bool) -> None:
        process = self._processes.get(number)
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill() if kill else process.terminate()
