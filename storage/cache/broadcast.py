"""Events to many watchers: told in rounds, in the same bytes, without waking anybody.

A watcher costs a server three things per event: its task is woken and asks for what there is, the
event is put into bytes, and the bytes are written, which with TLS means encrypted, and sent. For a
thousand watchers and two hundred events a second, each of them is too much: at 5 µs, one alone would
fill a core. So

*The bytes are shared.* Watchers of one prefix with the same selector, who want events in the same
form, are a *channel*. Its events are encoded once, framing included.

*Nobody is woken.* A watcher that waits for events, and whose connection takes bytes, is written to
directly. Its task sleeps until there is something that only it can do: its time is up, a bookmark is
due, or the connection takes no more.

*Events are written together.* With TLS a write of one shoot, 1.7 KB, takes 7 µs, of ten 27 µs, of forty
64 µs. So events gather while there is no time for them. A lone event after a silence is written in the
next turn of the event loop. A *round* writes to every channel with events and takes what it takes; then
the rounds rest for as long as the last one took, at most LONGEST_REST_SECONDS. With few watchers a rest
is shorter than the timer's resolution; with a thousand, events gather for tens of milliseconds, and each
is written to some twenty times a second instead of two hundred. The rest's bound is in time, and not a
share of it, so that rounds can take more than half of a core when nothing less will do.

*Others are served in between.* A round gives way after SLICE_SECONDS and goes on in the next turn of the
event loop. Where that turn takes longer, since much else is to be done, the round takes as long: it gets
half of the time, up to LONGEST_SLICE_SECONDS at once, and is not stretched over many long turns.

What is promised, and by what:

order, exactly once
    Events of a channel come in version order. `reached` is the version up to which a member has been
    told; whatever lies at or below it is not told again, whatever lies above is. A member that joins
    has fetched all that was published before; one that leaves, in the middle of a round too, takes
    along what it has not been told (`Channel.missed`) in its own queue.
bounds
    A channel that gathers more than its bound, half of a queue's, dismisses its members. A member
    whose connection is full is dismissed at its turn: it is written to only when that has been
    emptied below its high-water mark, so that a slow client holds that much and one piece of
    PIECE_EVENTS or, where they are large, PIECE_BYTES and an event.
faults stay alone
    Where encoding fails, or would take long, the members that have not been told are dismissed with
    the rest: each encodes by itself, and tells its client of the fault that it finds.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, Protocol

from storage.cache.watch_cache import matches
from storage.interface import Encode, Event, Outlet, Predicate

_log = logging.getLogger(__name__)

PIECE_EVENTS: Final = 64
PIECE_BYTES: Final = 256 * 1024
"""Most events of one write: some 100 KB of shoots; and where to end where objects are large."""

SLICE_SECONDS: Final = 0.002
LONGEST_SLICE_SECONDS: Final = 0.01
LONGEST_REST_SECONDS: Final = 0.05


Key = tuple[Predicate | None, Hashable]
"""Selector and form."""


class Member(Protocol):
    """A watcher of a channel."""

    reached: int

    def dismissed(self, missed: Sequence[Event]) -> None:
        """The channel has let it go, without having told it of these."""
        ...


class Channel:
    """Members that are sent the same bytes: those with one selector and one form."""

    __slots__ = ("_bound", "_encode", "_in_flight", "_members", "_pending", "_predicate", "key")

    def __init__(self, key: Key, encode: Encode, bound: int) -> None:
        """`bound`: of the events that may gather."""
        self.key = key
        self._predicate = key[0]
        self._encode = encode
        self._bound = bound
        # In the order in which they joined.
        self._members: dict[Member, Outlet] = {}
        self._pending: list[Event] = []
        self._in_flight: Sequence[Event] = ()

    def __len__(self) -> int:
        return len(self._members)

    def join(self, member: Member, outlet: Outlet) -> None:
        """`member` has been told of all that was published, up to its `reached`."""
        self._members[member] = outlet

    def leave(self, member: Member) -> Sequence[Event]:
        """What it has not been told of what was published."""
        missed = self.missed(member)
        del self._members[member]
        if not self._members:
            self._pending.clear()
        return missed

    def missed(self, member: Member) -> Sequence[Event]:
        return _after(chain(self._in_flight, self._pending), member.reached)

    def gather(self, event: Event) -> bool:
        """Whether the members are to be told of it: then a round is due."""
        if self._predicate is not None and not matches(event, self._predicate):
            return False
        self._pending.append(event)
        if len(self._pending) > self._bound:
            self._dismiss_all()
            return False
        return True

    def tell(self) -> Generator[None, None, Sequence[Event]]:
        """Write what has gathered; what comes meanwhile is left to the next round.

        Whoever drives it may let others have their turn at every step. Answers what it told.
        """
        told = self._pending[:]
        left = len(told)
        while left > 0 and self._pending:
            self._in_flight = _piece(self._pending, min(left, PIECE_EVENTS))
            left -= len(self._in_flight)
            del self._pending[: len(self._in_flight)]
            try:
                yield from self._tell_piece(self._in_flight)
            # Whatever it is, it must not end the rounds of the others; see the module.
            except Exception as error:  # noqa: BLE001
                _log.debug("%d watchers go on by themselves: %r", len(self._members), error)
                self._dismiss_all()
            self._in_flight = ()
        return told

    def _tell_piece(self, piece: Sequence[Event]) -> Iterator[None]:
        encoded = self._encode(piece)
        first, last = piece[0].record.resource_version, piece[-1].record.resource_version
        for member, outlet in tuple(self._members.items()):
            if member in self._members and member.reached < last:
                if outlet.ready and member.reached < first:
                    outlet.write(encoded)
                    member.reached = last
                else:
                    # Full, or it joined while these gathered and has fetched some of them.
                    self._dismiss(member)
            yield

    def _dismiss(self, member: Member) -> None:
        member.dismissed(self.leave(member))

    def _dismiss_all(self) -> None:
        for member in tuple(self._members):
            self._dismiss(member)


def _piece(events: Sequence[Event], most: int) -> Sequence[Event]:
    size = 0
    for number, event in enumerate(events[:most], start=1):
        size += len(event.record.body)
        if size > PIECE_BYTES:
            return events[:number]
    return events[:most]


def _after(events: Iterable[Event], version: int) -> list[Event]:
    return [event for event in events if event.record.resource_version > version]


class Rounds:
    """When channels write. `monotonic` in seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._due: dict[Channel, None] = {}
        self._round: Iterator[None] = iter(())
        self._scheduled: asyncio.Handle | None = None
        self._spent = 0.0
        self._gave_way = 0.0
        self._rests_until = 0.0

    def announce(self, channel: Channel) -> None:
        """`channel` has events. To be called inside the event loop."""
        self._due[channel] = None
        if self._scheduled is None:
            self._schedule()

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        rest = self._rests_until - self._monotonic()
        if rest > 0:
            self._scheduled = loop.call_later(rest, self._begin)
        else:
            self._scheduled = loop.call_soon(self._begin)

    def _begin(self) -> None:
        due, self._due = self._due, {}
        self._round = _tell_all(due)
        self._spent = 0.0
        self._gave_way = self._monotonic()
        self._go_on()

    def _go_on(self) -> None:
        begun = self._monotonic()
        others_took = begun - self._gave_way
        ends = begun + min(max(SLICE_SECONDS, others_took), LONGEST_SLICE_SECONDS)
        over = True
        try:
            over = self._tell_until(ends)
        finally:  # a fault of one round must not end those to come
            now = self._monotonic()
            self._spent += now - begun
            if over:
                self._rests_until = now + min(self._spent, LONGEST_REST_SECONDS)
                self._scheduled = None
                if self._due:
                    self._schedule()
            else:
                self._gave_way = now
                self._scheduled = asyncio.get_running_loop().call_soon(self._go_on)

    def _tell_until(self, ends: float) -> bool:
        """Whether the round is over."""
        return all(self._monotonic() < ends for _ in self._round)


def _tell_all(channels: Iterable[Channel]) -> Iterator[None]:
    told: list[Event] = []
    for channel in channels:
        told += yield from channel.tell()
    # The cache keeps events for long; who resumes, which is seldom, encodes them anew.
    for event in told:
        event.encoded.clear()
