"""Running watches: who is told of an event, and what each has not fetched yet.

A watcher joins at a version: what the window has after it is its backlog, what comes later is put
into its queue. Joining is synchronous, and so are applying and publishing a revision (by
`storage.cache.reflector`), so there is neither a gap nor an overlap between the two.

An event is offered to the watchers of its resource and to those of its namespace: two look-ups,
however many others watch elsewhere. A selector is applied when the event is offered, so that a
queue holds only what its watcher will get.

Overflow: a queue that would exceed its bound is closed. What is in it is handed out, then `next`
raises SlowWatcher; the client resumes from its last version. Queues hold references to events
that the window holds too, so a full one costs some kilobytes.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence

from apis.meta.transaction import Unavailable
from storage.cache.watch_cache import WatchCache, matches, store_prefix
from storage.interface import Event, Expired, Predicate, SlowWatcher, StorageError

QUEUE_EVENTS = 1_000
HAND_OUT_EVENTS = 500
"""At most so many at once, so that encoding them does not hold the event loop for long."""


class Watcher:
    """One `storage.interface.Subscription`. `next` is called by one task at a time."""

    __slots__ = ("_backlog", "_bound", "_cache", "_failure", "_handed_out", "_joined_at",
                 "_predicate", "_queue", "_waiting")  # fmt: skip

    def __init__(
        self,
        cache: WatchCache,
        *,
        since: int,
        predicate: Predicate | None,
        backlog: Iterable[Event],
        bound: int,
    ) -> None:
        self._cache = cache
        self._joined_at = since
        self._handed_out = since
        self._predicate = predicate
        self._backlog = deque(backlog)
        self._queue: deque[Event] = deque()
        self._bound = bound
        self._waiting: asyncio.Future[None] | None = None
        self._failure: StorageError | Unavailable | None = None

    async def next(self, timeout_seconds: float) -> Sequence[Event]:
        if not self._backlog and not self._queue and self._failure is None:
            await self._wait(timeout_seconds)
        events: list[Event] = []
        for source in (self._backlog, self._queue):
            while source and len(events) < HAND_OUT_EVENTS:
                events.append(source.popleft())
        if events:
            self._handed_out = events[-1].resource_version
        elif self._failure is not None:
            raise self._failure
        return events

    @property
    def progress(self) -> int:
        if self._backlog or self._queue or self._failure is not None:
            return self._handed_out
        return max(self._handed_out, self._cache.version)

    def offer(self, event: Event) -> None:
        """`event` is under this watcher's prefix and later than all offered before."""
        if self._failure is not None or event.record.resource_version <= self._joined_at:
            return
        if self._predicate is not None and not matches(event, self._predicate):
            return
        if len(self._queue) >= self._bound:
            self._failure = SlowWatcher(f"more than {self._bound} events are waiting")
        else:
            self._queue.append(event)
        self._wake()

    def fail(self, failure: StorageError | Unavailable) -> None:
        """End now; what has not been fetched is dropped."""
        self._failure = failure
        self._backlog.clear()
        self._queue.clear()
        self._wake()

    async def _wait(self, timeout_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(timeout_seconds, self._wake)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Fanout:
    """All watchers of one cache."""

    def __init__(self, cache: WatchCache, *, queue_events: int = QUEUE_EVENTS) -> None:
        self._cache = cache
        self._queue_events = queue_events
        self._watchers: dict[str, set[Watcher]] = {}

    def join(self, prefix: str, since: int, predicate: Predicate | None) -> Watcher:
        """Watch `prefix` (of a resource or a namespace) after version `since`; `leave` it again.

        `since` may lie beyond the cache: what comes until then is passed over. Raises Expired.
        """
        backlog = self._cache.events_after(prefix, since, predicate)
        if backlog is None:
            raise Expired(f"too old resource version: {since} ({self._cache.version})")
        watcher = Watcher(
            self._cache,
            since=since,
            predicate=predicate,
            backlog=backlog,
            bound=self._queue_events,
        )
        self._watchers.setdefault(prefix, set()).add(watcher)
        return watcher

    def leave(self, prefix: str, watcher: Watcher) -> None:
        watchers = self._watchers.get(prefix)
        if watchers is not None:
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[prefix]

    def publish(self, events: Iterable[Event]) -> None:
        """Offer the events of a revision that the cache has applied in this turn of the loop."""
        if not self._watchers:
            return
        for event in events:
            key = event.record.key
            resource = store_prefix(key)
            namespace = key[: key.rfind("/") + 1]
            for watcher in self._watchers.get(resource, ()):
                watcher.offer(event)
            if namespace != resource:
                for watcher in self._watchers.get(namespace, ()):
                    watcher.offer(event)

    def expire_all(self) -> None:
        """The cache has been rebuilt: nobody can be told what happened in between."""
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.fail(Expired("the watch cache was rebuilt"))

    def stop(self) -> None:
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.fail(Unavailable("the watch cache has stopped"))

    def __len__(self) -> int:
        return sum(map(len, self._watchers.values()))
