"""A worker's side of the supervisor: takes connections, tells its numbers, ends when it is alone."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from typing import Final

from apis.meta import errors
from quotaapi.endpoints.metrics import Family, Source
from quotaapi.server import totals
from quotaapi.server.channel import Channel, Message
from quotaapi.server.handover import Handover
from quotaapi.server.listener import Listener

_log = logging.getLogger(__name__)

REPORT_SECONDS: Final = 0.25
"""Between two reports. The supervisor counts on hearing from a worker whose loop is well."""

TOTALS_SECONDS: Final = 3.0
"""How long a scrape waits for the supervisor, which itself waits for the slowest worker."""

ALONE_SECONDS: Final = 60.0
"""A worker whose supervisor is gone ends in order, but not later than this."""


class Member:
    """`attach` first, and `run` from then on; `join` once it can serve."""

    def __init__(self, handover: Handover, stop: asyncio.Event) -> None:
        """`stop` is set when the supervisor is gone."""
        end = socket.socket(fileno=handover.channel)
        end.set_inheritable(False)
        self._channel = Channel(end)
        self._stop = stop
        self._taken = 0
        self._reporting = False
        self._keeps_back = False
        self._listener: Listener | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._handshakes: set[asyncio.Task[None]] = set()
        self._numbers: Source = tuple
        self._ready: Callable[[], bool] = lambda: False
        self._asked: asyncio.Future[Sequence[Family]] | None = None

    def attach(self) -> None:
        self._channel.listen(self._heard, self._ended)

    async def join(
        self,
        listener: Listener,
        tasks: asyncio.TaskGroup,
        *,
        numbers: Source,
        ready: Callable[[], bool],
    ) -> None:
        """From here on connections come; `tasks` owns their handshakes."""
        await listener.open()
        self._listener, self._tasks = listener, tasks
        self._numbers, self._ready = numbers, ready
        self._report()

    async def run(self) -> None:
        """Report for as long as it is not cancelled."""
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            self._report()

    def leave(self) -> None:
        """No more connections are taken: what the supervisor still sends goes back to it.

        Handshakes are cut off, since a client may take a minute over one.
        """
        self._tasks = None
        for handshake in self._handshakes:
            handshake.cancel()
        self._report()

    async def gather(self) -> Sequence[Family]:
        """The whole server's numbers. All who ask meanwhile get the same answer."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.get_running_loop().create_future()
            self._channel.send({"ask": "totals"})
        asked = self._asked
        try:
            async with asyncio.timeout(TOTALS_SECONDS):
                return await asyncio.shield(asked)
        except TimeoutError:
            if self._asked is asked:
                self._asked = None  # the next one asks anew
            raise errors.service_unavailable("the supervisor does not answer", 1) from None

    def _report(self, back: socket.socket | None = None) -> bool:
        """`back`: a connection that somebody else is to have; it counts as taken here, and is over."""
        self._reporting = False
        listener = self._listener
        report = {
            "taken": self._taken,
            "open": listener.connections if listener is not None else 0,
            "serving": self._tasks is not None,
            "ready": self._ready(),
        }
        return self._channel.send(report, back)

    def _heard(self, message: Message, connection: socket.socket | None) -> None:
        if connection is not None:
            self._take(connection)
        elif "take" in message:
            # No descriptor was left for it. It counts as taken, and so the supervisor closes it:
            # what is taken is told by number, in the order in which it was handed.
            _log.error("a connection is lost: this worker has too many open files")
            self._taken += 1
        elif "collect" in message:
            told = totals.to_wire(self._numbers())
            self._channel.send({"collected": message["collect"], "families": told})
        elif "totals" in message and self._asked is not None and not self._asked.done():
            self._asked.set_result(totals.from_wire(message["totals"]))

    def _take(self, connection: socket.socket) -> None:
        self._taken += 1
        if self._tasks is None or self._listener is None:
            if self._keeps_back or not self._report(connection):
                # Never taken, then: the supervisor has it still, and passes it on at our end. So
                # with all that follow, since what is taken is told by number.
                self._keeps_back = True
                self._taken -= 1
            connection.close()
            return
        connection.setblocking(False)
        handshake = self._tasks.create_task(self._listener.take(connection), name="handshake")
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)
        if not self._reporting:
            # At once, and once for all that came together: what was not reported as taken would,
            # if this process died, be handed to another, which cannot go on in the middle.
            self._reporting = True
            asyncio.get_running_loop().call_soon(self._report)

    def _ended(self) -> None:
        _log.error("the supervisor is gone, so this worker ends, too")
        self._stop.set()
        # Ending in order is bounded by many small limits; this one holds whatever they add up to.
        asyncio.get_running_loop().call_later(ALONE_SECONDS, os._exit, 1)
