"""Running watches: who is told of an event, and what each has not fetched yet.

A watcher joins at a version: what the window has after it is its backlog, what comes later is put
into its queue. Joining is synchronous, and so are applying and publishing a revision (by
`storage.cache.reflector`), so there is neither a gap nor an overlap between the two.

An event is offered to the watchers of its resource and to those of its namespace: two look-ups,
however many others watch elsewhere. A selector is applied when the event is offered, so that a
queue holds only what its watcher will get.

A watcher that has fetched everything, waits for more, and has an outlet that takes bytes, waits in a
channel (`storage.cache.broadcast`): then events are written for it and pass its queue by.

Overflow: a queue that would exceed its bound is closed. What is in it is handed out, then `next`
raises SlowWatcher; the client resumes from its last version. Queues hold references to events
that the window holds too, so a full one costs some kilobytes.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from apis.meta.transaction import Unavailable
from storage.cache.broadcast import Channel, Key, Rounds
from storage.cache.watch_cache import WatchCache, matches, store_prefix
from storage.interface import (
    Delivery,
    Event,
    Expired,
    Predicate,
    SlowWatcher,
    StorageError,
)

QUEUE_EVENTS = 1_000
HAND_OUT_EVENTS = 500
HAND_OUT_BYTES = 1024 * 1024
"""At most so much at once, but at least one event: neither does encoding hold the event loop for
long, nor does a connection have to keep more."""


class Watcher:
    """One `storage.interface.Subscription`. `next` is called by one task at a time."""

    __slots__ = ("_audience", "_backlog", "_bound", "_cache", "_channel", "_delivery", "_failure",
                 "_joined_at", "_queue", "_waiting", "predicate", "reached")  # fmt: skip

    def __init__(
        self,
        cache: WatchCache,
        audience: "Audience",
        *,
        since: int,
        predicate: Predicate | None,
        backlog: Iterable[Event],
        bound: int,
    ) -> None:
        self._cache = cache
        self._audience = audience
        self._joined_at = since
        self.reached = since
        """The version of the last event that was handed out or written."""
        self.predicate = predicate
        self._backlog = deque(backlog)
        self._queue: deque[Event] = deque()
        self._bound = bound
        self._delivery: Delivery | None = None
        self._channel: Channel | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._failure: StorageError | Unavailable | None = None

    def deliver(self, delivery: Delivery) -> None:
        self._delivery = delivery

    async def next(self, timeout_seconds: float) -> Sequence[Event]:
        if not self._backlog and not self._queue and self._failure is None:
            await self._wait(timeout_seconds)
        events: list[Event] = []
        size = 0
        for source in (self._backlog, self._queue):
            while source and len(events) < HAND_OUT_EVENTS and size < HAND_OUT_BYTES:
                events.append(source.popleft())
                size += len(events[-1].record.body)
        if events:
            self.reached = events[-1].resource_version
        elif self._failure is not None:
            raise self._failure
        return events

    @property
    def progress(self) -> int:
        if self._backlog or self._queue or self._failure is not None:
            return self.reached
        if self._channel is not None and self._channel.missed(self):
            return self.reached
        return max(self.reached, self._cache.version)

    def offer(self, event: Event) -> None:
        """`event` is under this watcher's prefix and later than all offered before."""
        if self._failure is not None or event.record.resource_version <= self._joined_at:
            return
        if self.predicate is not None and not matches(event, self.predicate):
            return
        self._put(event)
        self._wake()

    def fail(self, failure: StorageError | Unavailable) -> None:
        """End now; what has not been fetched is dropped."""
        self._leave_channel()
        self._failure = failure
        self._backlog.clear()
        self._queue.clear()
        self._wake()

    def dismissed(self, missed: Sequence[Event]) -> None:
        """By its channel: these, and what comes later, go through the queue."""
        if self._channel is not None:
            self._audience.exit(self, self._channel)
            self._channel = None
        for event in missed:
            self._put(event)
        if missed:
            self._wake()

    def _put(self, event: Event) -> None:
        if len(self._queue) < self._bound:
            self._queue.append(event)
        elif self._failure is None:
            self._failure = SlowWatcher(f"more than {self._bound} events are waiting")

    async def _wait(self, timeout_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(timeout_seconds, self._wake)
        if self._delivery is not None and self._delivery.outlet.ready:
            self._channel = self._audience.enter(self, self._delivery)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None
            self._leave_channel()

    def _leave_channel(self) -> None:
        if self._channel is not None:
            self.dismissed(self._channel.leave(self))

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Audience:
    """The watchers of one prefix: those in channels, and those `apart`, who are told one by one."""

    __slots__ = ("_bound", "_channels", "_rounds", "apart", "watchers")

    def __init__(self, rounds: Rounds, bound: int) -> None:
        self._rounds = rounds
        self._bound = bound
        self._channels: dict[Key, Channel] = {}
        self.watchers: set[Watcher] = set()
        self.apart: set[Watcher] = set()

    def add(self, watcher: Watcher) -> None:
        self.watchers.add(watcher)
        self.apart.add(watcher)

    def discard(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        self.apart.discard(watcher)

    def enter(self, watcher: Watcher, delivery: Delivery) -> Channel:
        """From now on `watcher` is told by the channel of those who want what it wants."""
        key = (watcher.predicate, delivery.form)
        channel = self._channels.get(key)
        if channel is None:
            # Half: a member that has to leave with all of them is not at once too slow.
            channel = self._channels[key] = Channel(key, delivery.encode, self._bound // 2)
        channel.join(watcher, delivery.outlet)
        self.apart.discard(watcher)
        return channel

    def exit(self, watcher: Watcher, channel: Channel) -> None:
        """`watcher` has left `channel`, and is told apart."""
        self.apart.add(watcher)
        if not channel:
            del self._channels[channel.key]

    def offer(self, event: Event) -> None:
        for watcher in self.apart:
            watcher.offer(event)
        # A copy: a channel without members is deleted.
        for channel in tuple(self._channels.values()):
            if channel.gather(event):
                self._rounds.announce(channel)


class Fanout:
    """All watchers of one cache. `monotonic` in seconds."""

    def __init__(
        self,
        cache: WatchCache,
        *,
        queue_events: int = QUEUE_EVENTS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache = cache
        self._queue_events = queue_events
        self._rounds = Rounds(monotonic)
        self._audiences: dict[str, Audience] = {}

    def join(self, prefix: str, since: int, predicate: Predicate | None) -> Watcher:
        """Watch `prefix` (of a resource or a namespace) after version `since`; `leave` it again.

        `since` may lie beyond the cache: what comes until then is passed over. Raises Expired.
        """
        backlog = self._cache.events_after(prefix, since, predicate)
        if backlog is None:
            raise Expired(f"too old resource version: {since} ({self._cache.version})")
        audience = self._audiences.get(prefix)
        if audience is None:
            audience = self._audiences[prefix] = Audience(self._rounds, self._queue_events)
        watcher = Watcher(
            self._cache,
            audience,
            since=since,
            predicate=predicate,
            backlog=backlog,
            bound=self._queue_events,
        )
        audience.add(watcher)
        return watcher

    def leave(self, prefix: str, watcher: Watcher) -> None:
        audience = self._audiences.get(prefix)
        if audience is not None:
            audience.discard(watcher)
            if not audience.watchers:
                del self._audiences[prefix]

    def publish(self, events: Iterable[Event]) -> None:
        """Offer the events of a revision that the cache has applied in this turn of the loop."""
        if not self._audiences:
            return
        for event in events:
            key = event.record.key
            resource = store_prefix(key)
            namespace = key[: key.rfind("/") + 1]
            audience = self._audiences.get(resource)
            if audience is not None:
                audience.offer(event)
            if namespace != resource:
                audience = self._audiences.get(namespace)
                if audience is not None:
                    audience.offer(event)

    def expire_all(self) -> None:
        """The cache has been rebuilt: nobody can be told what happened in between."""
        for audience in self._audiences.values():
            for watcher in audience.watchers:
                watcher.fail(Expired("the watch cache was rebuilt"))

    def stop(self, why: str = "the watch cache has stopped") -> None:
        """Nothing more can be told for now; the events are not gone, here or elsewhere."""
        for audience in self._audiences.values():
            for watcher in audience.watchers:
                watcher.fail(Unavailable(why))

    def __len__(self) -> int:
        return sum(len(audience.watchers) for audience in self._audiences.values())
