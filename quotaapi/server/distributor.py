"""Accepts connections and hands each to the worker that has the fewest.

Why not leave it to the kernel: with SO_REUSEPORT it picks a worker by a hash of the addresses, and
kube-apiserver comes with a handful of long-lived connections, which may well all fall to one of
them; what waits in the queue of a worker that dies is reset, and what would be hashed to it is
refused or waits until it is back. With one inherited socket, who wakes first takes all there is.
Dealt out here, two connections are one each, a worker that is not ready gets none while another
is, and the queue outlives every worker. It costs 0.15 ms a connection, a seventh of its handshake.
"""

import asyncio
import logging
import socket
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from quotaapi.server.channel import Channel, Message
from quotaapi.server.listener import BACKLOG, PAUSE_SECONDS

_log = logging.getLogger(__name__)

_AT_ONCE: Final = 64
"""Accepted before anything else gets its turn."""

_QUIET_TICKS: Final = 2
"""A worker that has not reported for so long gets connections only when all are like that."""


@dataclass(slots=True)
class Place:
    """One living worker. `handed` is counted here; `taken` and `open` are what it last reported.

    `ticks`: seconds since then; None before its first report, when `starting_ticks` count.
    `unread`: connections that it was
    handed and has not reported to have taken, the latest last: they survive it.
    """

    number: int
    channel: Channel
    serving: bool = False
    ready: bool = False
    handed: int = 0
    taken: int = 0
    open: int = 0
    ticks: int | None = None
    starting_ticks: int = 0
    unread: deque[socket.socket] = field(default_factory=deque)

    @property
    def connections(self) -> int:
        return self.handed - self.taken + self.open

    def reported(self, message: Message) -> None:
        self.serving, self.ready = message["serving"], message["ready"]
        self.taken, self.open = message["taken"], message["open"]
        self.ticks = 0
        while len(self.unread) > self.handed - self.taken:
            self.unread.popleft().close()


def preferred(places: list[Place]) -> list[Place]:
    """Those that serve, the best first: ready, heard of lately, with the fewest connections."""
    serving = [place for place in places if place.serving]
    return sorted(
        serving,
        key=lambda p: (not p.ready, (p.ticks or 0) > _QUIET_TICKS, p.connections, p.handed),
    )


class Distributor:
    """`open` once somebody serves; `seat` and `vacate` as workers come and go; `close` at the end."""

    def __init__(self, listening: socket.socket) -> None:
        """`listening` is bound, and this object's to close."""
        listening.setblocking(False)
        self._listening = listening
        self._opened = False
        self._accepting = False
        self._waiting: deque[socket.socket] = deque()
        self.places: list[Place] = []

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    def open(self) -> None:
        self._listening.listen(BACKLOG)
        self._opened = True
        self._resume()

    def close(self) -> None:
        """No new connections. Those that no worker has got are cut off."""
        self._opened = False
        self._pause()
        self._listening.close()
        for left in (self._waiting, *(place.unread for place in self.places)):
            while left:  # of what a worker was handed it has its own descriptor
                left.popleft().close()

    def seat(self, place: Place) -> None:
        self.places.append(place)

    def vacate(self, place: Place) -> None:
        """Its worker is gone: the others get what it had not taken."""
        self.places.remove(place)
        while place.unread:
            self.hand(place.unread.popleft())

    def reported(self, place: Place, message: Message) -> None:
        place.reported(message)
        while self._waiting and place.serving:
            connection = self._waiting.popleft()
            if not self._handed(connection):
                self._waiting.appendleft(connection)
                return
        if place.serving:
            self._resume()

    def hand(self, connection: socket.socket) -> None:
        """To the best worker that has room; where none has, it waits, and nothing more is accepted."""
        if not self._opened:
            connection.close()
        elif not self._handed(connection):
            self._waiting.append(connection)
            self._pause()

    def _handed(self, connection: socket.socket) -> bool:
        for place in preferred(self.places):
            if place.channel.send({"take": True}, connection):
                place.handed += 1
                place.unread.append(connection)
                return True
        return False

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.error("no connections for %g s: %s", PAUSE_SECONDS, error)
                self._pause()
                asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._resume)
                return
            self.hand(connection)
            if self._waiting:
                return

    def _resume(self) -> None:
        if self._opened and not self._accepting and not self._waiting:
            self._accepting = True
            asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    def _pause(self) -> None:
        if self._accepting:
            self._accepting = False
            asyncio.get_running_loop().remove_reader(self._listening.fileno())
