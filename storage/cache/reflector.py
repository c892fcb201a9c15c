"""Keeps the watch cache equal to etcd: a list at one revision, then every revision's events.

    pending ------ loaded -------> ready --- run() ends ---> stopped
       ^                             |
       +------- the history is ------+
                gone or another

*pending*: the cache holds nothing that may be served. *ready*: it holds everything up to
`cache.revision`, which may be some time ago while etcd is away. *stopped*: for good.

What ends the event stream, and what follows:

    Unavailable, or it just ends    wait (bounded, growing, jittered), check, resume where it was
    silence                         check, resume where it was: a watch can die without a word
    Expired                         events are lost (compacted), or the revisions are another
                                    cluster's: load again, every watcher gets Expired
    the check finds an older        etcd was restored: likewise
    revision than the cache's
    an unreadable value             *pending* until it has been mended: nothing is passed over, and
                                    watchers are sent elsewhere
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apis.meta.transaction import Unavailable
from storage.cache.fanout import Fanout
from storage.cache.watch_cache import WatchCache
from storage.interface import (
    Backend,
    Expired,
    RawEvent,
    StorageError,
    TooLargeResourceVersion,
)

_log = logging.getLogger(__name__)


class State(StrEnum):
    PENDING = "pending"
    READY = "ready"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Pace:
    """`page_keys`: keys per page of the initial list. `turn_events`, `turn_bytes`: events applied before
    other tasks get a turn, watchers among them, whose queues would overflow otherwise. The rest are seconds."""

    page_keys: int = 1_000
    turn_events: int = 200
    turn_bytes: int = 512 * 1024
    silence_seconds: float = 30.0
    first_delay_seconds: float = 0.05
    longest_delay_seconds: float = 2.0


def _nothing() -> None:
    return None


class Reflector:
    """Owns feeding of `cache` and `fanout`. `run` is started once, by the composition root."""

    def __init__(
        self,
        backend: Backend,
        cache: WatchCache,
        fanout: Fanout,
        *,
        jitter: Callable[[], float],
        pace: Pace | None = None,
        on_applied: Callable[[], None] = _nothing,
        on_reloaded: Callable[[], None] = _nothing,
    ) -> None:
        """`jitter` answers a number in [0, 1). `on_applied` is called after every revision,
        `on_reloaded` before the cache is replaced: revisions remembered may mean nothing now."""
        self._backend = backend
        self._cache = cache
        self._fanout = fanout
        self._jitter = jitter
        self._pace = pace or Pace()
        self._on_applied = on_applied
        self._on_reloaded = on_reloaded
        self._failures = 0
        self._watchdog: asyncio.Timeout | None = None
        self._waiting: dict[asyncio.Future[bool], int] = {}
        self._must_load = True
        self.state = State.PENDING
        self.loads = 0
        """How often the cache was loaded, the first time included."""
        self.filled = asyncio.Event()
        """Set when the cache has been *ready* for the first time."""
        self.fault = ""
        """The stored value that cannot be read, and keeps the cache from being served."""

    @property
    def synced(self) -> bool:
        return self.state is State.READY

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                try:
                    if await self._session():
                        continue
                except (Expired, TooLargeResourceVersion) as error:
                    _log.warning("the watch cache is loaded again: %s", error)
                    self._distrust()
                except StorageError as error:
                    # A stored value that cannot be read. Nothing may be passed over, so nothing
                    # is served from here until somebody has mended it.
                    _log.log(
                        logging.DEBUG if self.fault else logging.ERROR,
                        "the watch cache cannot be loaded or kept: %s",
                        error,
                    )
                    self._distrust()
                    self.fault = str(error)
                    self._fanout.stop(self.fault)
                except Unavailable as error:
                    _log.log(
                        logging.WARNING if self._failures == 0 else logging.DEBUG,
                        "etcd's events cannot be followed: %s",
                        error,
                    )
                await asyncio.sleep(self._delay())
        finally:
            self.state = State.STOPPED
            self._fanout.stop()
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(False)

    def doubt(self) -> None:
        """Load anew: somebody was told of a revision that is older than the cache's, or of another
        value at the same one, which is no suspicion but a proof."""
        if self._watchdog is not None and not self._watchdog.expired():
            self._must_load = True
            self._watchdog.reschedule(asyncio.get_running_loop().time())

    async def wait_for_revision(self, revision: int, timeout_seconds: float) -> bool:
        """Whether the cache is loaded and has come to `revision` within the time."""
        if self.synced and self._cache.revision >= revision:
            return True
        if self.state is State.STOPPED or timeout_seconds <= 0:
            return False
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = loop.create_future()
        self._waiting[waiting] = revision
        timer = loop.call_later(timeout_seconds, _give_up, waiting)
        try:
            return await waiting
        finally:
            timer.cancel()
            del self._waiting[waiting]

    async def wait_until_synced(self, timeout_seconds: float) -> bool:
        return await self.wait_for_revision(0, timeout_seconds)

    async def _session(self) -> bool:
        """Load or check, then follow. True: begin again at once; False: after a pause."""
        if self._must_load:
            await self._load()
        elif await self._history_went_back():
            raise Expired("etcd is at an older revision than the watch cache")
        return await self._follow()

    def _distrust(self) -> None:
        self._must_load = True
        self.state = State.PENDING

    async def _history_went_back(self) -> bool:
        known = self._cache.revision
        return await self._backend.current_revision() < known

    async def _load(self) -> None:
        """Of the present: what was before is read from etcd's history when it is asked for."""
        revision = await self._backend.current_revision()
        loading = self._cache.loading()
        start_after, more = "", True
        while more:
            page = await self._backend.range(
                "", start_after=start_after, limit=self._pace.page_keys, revision=revision
            )
            size = 0
            for record in page.records:
                loading.add((record,))
                size += len(record.body)
                if size >= self._pace.turn_bytes:
                    size = 0
                    await asyncio.sleep(0)
            more = page.more and bool(page.records)
            start_after = page.records[-1].key if page.records else ""
        self._fanout.expire_all()
        self._on_reloaded()
        self._cache.adopt(revision, loading)
        self.loads += 1
        self._must_load = False
        self._advanced()

    async def _follow(self) -> bool:
        """Take what comes until the stream ends (False) or has been silent for too long (True)."""
        clock = asyncio.get_running_loop().time
        patience = self._pace.silence_seconds
        stream = self._backend.events(self._cache.revision)
        try:
            async with asyncio.timeout(patience) as self._watchdog:
                renewed, applied, size = clock(), 0, 0
                async for revision, raw_events in stream:
                    self._take(revision, raw_events)
                    applied += len(raw_events)
                    size += sum(len(raw.record.body) for raw in raw_events if raw.record)
                    if applied >= self._pace.turn_events or size >= self._pace.turn_bytes:
                        applied = size = 0
                        await asyncio.sleep(0)
                    # Not for every batch: at a thousand a second timers would be a cost.
                    if clock() > renewed + patience / 4:
                        renewed = clock()
                        self._watchdog.reschedule(renewed + patience)
        except TimeoutError:
            return self._watchdog is not None and self._watchdog.expired()
        finally:
            self._watchdog = None
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        return False

    def _take(self, revision: int, raw_events: Sequence[RawEvent]) -> None:
        """Synchronous on purpose: no task sees the cache between applying and publishing."""
        self._failures = 0
        self._fanout.publish(self._cache.apply(revision, raw_events))
        self._advanced()

    def _advanced(self) -> None:
        reached = self._cache.revision
        if self.state is State.PENDING:
            self.state = State.READY
            self.filled.set()
            self.fault = ""
        self._on_applied()
        for waiting, revision in self._waiting.items():
            if revision <= reached and not waiting.done():
                waiting.set_result(True)

    def _delay(self) -> float:
        """Doubles from the first to the longest, of which between a half and all is waited."""
        pace = self._pace
        delay = min(pace.first_delay_seconds * (1 << self._failures), pace.longest_delay_seconds)
        self._failures = min(self._failures + 1, 32)
        return delay * (0.5 + self._jitter() / 2)


def _give_up(waiting: asyncio.Future[bool]) -> None:
    if not waiting.done():
        waiting.set_result(False)
