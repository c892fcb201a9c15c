"""One watch: first what has happened since its version, then what happens.

    behind the window    events come from etcd's history (`replay`)
    in the window        events come from it, some at a time
    near its end         joined: a watcher of the fan-out, which is told of what comes

While a watch catches up nothing is queued for it: it asks for what comes after the version that it has
come to, and joins when the window has no more than JOIN_EVENTS beyond it. To look, to filter these and to
join is one step without a pause, so there is neither a gap nor an overlap. A watch costs the events
that were handed to it, not those that it has still to be told.

While etcd is away, a watch that needs its history is silent and waits, as those do that have joined.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from apis.meta.transaction import Unavailable
from storage.cache.fanout import Fanout, Watcher
from storage.cache.replay import RETRY_SECONDS, Replay
from storage.cache.turn import Turns
from storage.cache.watch_cache import WatchCache, concerns
from storage.interface import Delivery, Event, Expired, Predicate
from storage.versioner import list_version, revision_of

HAND_OUT_EVENTS: Final = 128
HAND_OUT_BYTES: Final = 256 * 1024
"""At most so much at once, but at least one event: what a client that does not read keeps waiting."""

JOIN_EVENTS: Final = 16
"""Few enough to be judged at once by a selector of any size."""


class Resumption:
    """`storage.interface.Subscription`. Leave it with `close`."""

    def __init__(
        self,
        *,
        cache: WatchCache,
        fanout: Fanout,
        replay: Replay,
        prefix: str,
        since: int,
        predicate: Predicate | None,
        turns: Turns,
        check_synced: Callable[[], None],
    ) -> None:
        """`check_synced` raises Unavailable while the cache must not be served."""
        self._cache = cache
        self._fanout = fanout
        self._replay = replay
        self._generation = replay.generation
        self._prefix = prefix
        self._reached = since
        self._predicate = predicate
        self._turns = turns
        self._check_synced = check_synced
        self._delivery: Delivery | None = None
        self._joined: Watcher | None = None
        self._has_replayed = False
        self._join_if_near()

    def deliver(self, delivery: Delivery) -> None:
        self._delivery = delivery
        if self._joined is not None:
            self._joined.deliver(delivery)

    async def next(self, timeout_seconds: float) -> Sequence[Event]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + timeout_seconds
        if self._joined is None:
            limit = asyncio.timeout_at(ends)
            try:
                async with limit:
                    events = await self._catch_up()
            except TimeoutError:
                if not limit.expired():
                    raise
                return ()
            if self._joined is None:
                return events
        return await self._joined.next(max(ends - loop.time(), 0.0))

    @property
    def progress(self) -> int:
        return self._joined.progress if self._joined is not None else self._reached

    def close(self) -> None:
        if self._joined is not None:
            self._fanout.leave(self._prefix, self._joined)

    async def _catch_up(self) -> Sequence[Event]:
        """Events of the past, or none once it has joined."""
        while not self._join_if_near():
            # Before anything is taken: who is cancelled while waiting has lost nothing.
            await self._replay.turn_to_hand_out()
            self._check_history()
            near = self._cache.later(self._prefix, self._reached, HAND_OUT_EVENTS)
            if near is not None:
                events = await self._selected(near, near[-1].resource_version)
            else:
                events = await self._selected(*await self._replayed())
            if events:
                return events
        return ()

    def _join_if_near(self) -> bool:
        """Whether it has joined."""
        if self._joined is not None:
            return True
        self._check_history()
        self._check_synced()
        ahead = self._cache.later(self._prefix, self._reached, JOIN_EVENTS + 1)
        if ahead is None or len(ahead) > JOIN_EVENTS:
            return False
        self._joined = self._fanout.join(self._prefix, self._reached, self._predicate)
        if self._delivery is not None:
            self._joined.deliver(self._delivery)
        return True

    def _check_history(self) -> None:
        """After every wait: events of another history must not follow those that were told."""
        if self._generation != self._replay.generation:
            raise Expired("the watch cache was rebuilt")

    async def _replayed(self) -> tuple[Sequence[Event], int]:
        """Events from before the window, and the version up to which they are all."""
        until = revision_of(self._cache.floor(self._prefix))
        while True:
            try:
                piece = await self._replay.piece(self._reached, until, goes_on=self._has_replayed)
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._check_history()
                self._has_replayed = True
                return piece.later(self._reached), list_version(piece.until)

    async def _selected(self, found: Sequence[Event], end: int) -> Sequence[Event]:
        """Of `found`, the events to be told, as many as one hand-out takes; goes on to `end` where it
        takes all."""
        events: list[Event] = []
        size = 0
        turn = await self._turns.begin()
        for event in found:
            if concerns(event, self._prefix, self._predicate):
                events.append(event)
                size += len(event.record.body)
                if len(events) == HAND_OUT_EVENTS or size >= HAND_OUT_BYTES:
                    self._reached = event.resource_version
                    return events
            if turn.is_over():
                await turn.give()
        self._reached = end
        return events
