"""Events that the watch cache's windows do not have: read from etcd's own history, in pieces.

A window begins empty when the cache is loaded, and drops its oldest events later. etcd keeps every
revision until it is compacted, and "too old" may be said of compacted versions only. So a watch that
resumes before its window is served from here until it has come to the window (`resumption`).

Why on demand, and not by filling the windows at the start: a load stays as short as it can be,
nobody pays for a history that nobody asks for, and there is no bound to how far back a watch may
resume but the compaction.

*What is read.* An etcd watch of the whole prefix from a past revision, with the value before each
change: a selector judges both. All keys, hidden ones too, since the position of a removal is its index
among its revision's events. The value before a change may be compacted when the change is not; etcd
then leaves it out. That cannot happen to an event that is due: it is later than the version V that
the client saw, so the value before it is one at V's revision or later, which is as old as V. Where V
lies inside a revision, the revision before it is needed, too. A value that is missing means that V has
been compacted meanwhile: Expired, and true.

*In pieces.* A piece is the events of a span of revisions, at most PIECE_EVENTS or PIECE_BYTES and a
revision. Watches hold no piece: they are handed some events, and ask again for what comes after the
version that they have come to. So a client that reads slowly costs what was handed to it, however far
back it is. The last pieces are kept, up to KEPT_BYTES, and for KEPT_SECONDS after their last use.

*Shared.* When a server starts, all its clients resume at once, from versions near each other. One
reading goes on at a time, and who waited for it looks first whether it brought what it needs. Pieces
begin at multiples of ALIGNED_REVISIONS where they can, and end where the next one begins, so that
versions that differ a little lead to the same pieces. So N watches read the history once, and not N
times, and etcd is asked for it by one at a time. The events in it and their encoded lines are one
for all.

*Other histories.* When the cache is loaded anew, etcd is not the one it was, or what the cache
lacks is gone: what was read is dropped, and the watches that read it end with Expired.

An event that this release cannot decode cannot be told, and may not be passed over: Expired.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final

from apis.meta.keys import resource_prefix
from apis.meta.transaction import Record, Unavailable
from storage.cache.turn import Turns
from storage.cache.watch_cache import removed, store_prefix
from storage.interface import (
    Backend,
    Event,
    Expired,
    Extract,
    Facts,
    PastEvent,
    UnreadableRecord,
)
from storage.versioner import LAST_POSITION, position_of, revision_of

PIECE_EVENTS: Final = 2_000
PIECE_BYTES: Final = 4 * 1024 * 1024
KEPT_BYTES: Final = 32 * 1024 * 1024
KEPT_SECONDS: Final = 30.0
ALIGNED_REVISIONS: Final = 128
RETRY_SECONDS: Final = 1.0
"""How long etcd is left alone after it could not be read: many watches may wait for it."""

_LEAST_BYTES = 64 * 1024
"""Of a piece, however little is in it: so that their number is bounded, too."""
_OVERHEAD_BYTES = 1_000
"""Of an event beside its values: facts, and the objects that hold all of it together."""


@dataclass(frozen=True, slots=True)
class Piece:
    """All events of registered resources after revision `after`, up to revision `until`."""

    after: int
    until: int
    events: Sequence[Event]
    size: int
    """Bytes, estimated."""

    def later(self, version: int) -> Sequence[Event]:
        """The events after `version`."""
        start = bisect_right(self.events, version, key=lambda event: event.resource_version)
        return self.events[start:]


def start_of(version: int) -> int:
    """The revision after which events are needed for a watch after `version`."""
    revision = revision_of(version)
    return revision if position_of(version) == LAST_POSITION else max(revision - 1, 0)


class Replay:
    """The pieces of one watch cache."""

    def __init__(self, backend: Backend, extracts: Mapping[str, Extract], *, turns: Turns) -> None:
        self._backend = backend
        self._extracts = {resource_prefix(name): extract for name, extract in extracts.items()}
        self._turns = turns
        self._reading = asyncio.Lock()
        self._handing_out = asyncio.Lock()
        # In the order of their last use.
        self._pieces: dict[int, Piece] = {}
        self._expiry: asyncio.TimerHandle | None = None
        self._retry_at = 0.0
        self.generation = 0
        """Of histories: counts calls of `forget`."""
        self.readings = 0
        """How often etcd was asked for its history."""

    def forget(self) -> None:
        """etcd's history is another, or the cache has lost its place in it."""
        self.generation += 1
        self._drop_pieces()

    async def piece(self, version: int, until: int, *, goes_on: bool = False) -> Piece:
        """A piece with what comes next after `version`; one that is read goes no further than
        revision `until`, which is after what `version` has seen whole. `goes_on`: a piece ends at
        `version`.

        Raises Expired, Unavailable.
        """
        start = start_of(version)
        found = self._covering(start)
        if found is None:
            async with self._reading:
                # Somebody else's reading, which was waited for, may have brought it.
                found = self._covering(start)
                if found is None:
                    aligned = start if goes_on else start - start % ALIGNED_REVISIONS
                    found = await self._read(aligned, start, max(until, start + 1))
        self._use(found)
        return found

    async def turn_to_hand_out(self) -> None:
        """One watch that catches up is handed events in one turn of the event loop, however many
        could be: to encode and to write them takes a millisecond each time."""
        async with self._handing_out:
            await asyncio.sleep(0)

    def _covering(self, start: int) -> Piece | None:
        return next((p for p in self._pieces.values() if p.after <= start < p.until), None)

    def _use(self, piece: Piece) -> None:
        if self._pieces.pop(piece.after, None) is not piece:
            return
        self._pieces[piece.after] = piece
        if self._expiry is not None:
            self._expiry.cancel()
        loop = asyncio.get_running_loop()
        self._expiry = loop.call_later(KEPT_SECONDS, self._drop_pieces)

    def _drop_pieces(self) -> None:
        self._pieces.clear()

    async def _read(self, aligned: int, start: int, until: int) -> Piece:
        """From `aligned`, or where that leads nowhere, from `start`."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._retry_at:
            raise Unavailable("etcd's history could not be read a moment ago")
        try:
            if aligned < start:
                # Compacted or unreadable before `start`, or so much that it ends before it.
                with suppress(Expired, UnreadableRecord):
                    piece = await self._read_from(aligned, until)
                    if piece.until > start:
                        return piece
            return await self._read_from(start, until)
        except UnreadableRecord as error:
            raise Expired(f"too old resource version: {error}") from error
        except Unavailable:
            self._retry_at = loop.time() + RETRY_SECONDS
            raise

    async def _read_from(self, after: int, until: int) -> Piece:
        self.readings += 1
        generation = self.generation
        # No further than to what is there already; a piece that begins here is not long enough.
        until = min([until, *(p.after for p in self._pieces.values() if p.after > after)])
        making = _Making(self._extracts)
        turn = await self._turns.begin()
        reached = after
        async with aclosing(self._backend.replay(after, until)) as history:
            async for revision, events in history:
                if revision > until:
                    reached = until
                    break
                for event in events:
                    making.add(event)
                    if turn.is_over():
                        await turn.give()
                reached = revision
                if reached == until or making.is_full:
                    break
        if reached <= after:
            raise Unavailable(f"etcd's history after revision {after} broke off")
        if generation != self.generation:
            raise Expired("the watch cache was rebuilt")
        piece = Piece(after, reached, making.events, making.size)
        self._keep(piece)
        return piece

    def _keep(self, piece: Piece) -> None:
        self._pieces.pop(piece.after, None)
        self._pieces[piece.after] = piece
        size = sum(kept.size for kept in self._pieces.values())
        for oldest in list(self._pieces.values())[:-1]:
            if size <= KEPT_BYTES:
                break
            size -= oldest.size
            del self._pieces[oldest.after]


@dataclass(slots=True)
class _Making:
    """A piece in the making. An object's facts before a change are those after the one before."""

    extracts: Mapping[str, Extract]
    events: list[Event] = field(default_factory=list)
    size: int = _LEAST_BYTES
    _last: dict[str, tuple[Record, Facts]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return len(self.events) >= PIECE_EVENTS or self.size >= PIECE_BYTES

    def add(self, past: PastEvent) -> None:
        raw = past.event
        extract = self.extracts.get(store_prefix(raw.key))
        if extract is None:
            return
        before = self._last.pop(raw.key, None) or self._decoded(past.before, extract)
        after = self._decoded(raw.record, extract)
        if after is not None:
            self._last[raw.key] = after
            previous = before[1] if before is not None else None
            of_before = before[0] if before is not None else None
            self.events.append(Event(after[0], after[1], previous, before=of_before))
        elif before is not None:
            self.events.append(removed(raw, before[0], before[1]))

    def _decoded(self, record: Record | None, extract: Extract) -> tuple[Record, Facts] | None:
        if record is None:
            return None
        # Twice: some of its encoded lines are kept beside it.
        self.size += 2 * len(record.body) + _OVERHEAD_BYTES
        return record, extract(record.key, record.object())
