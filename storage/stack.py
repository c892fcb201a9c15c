"""Puts the parts of storage above etcd together: the one place that knows how they hang together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apis.meta.transaction import Transactor as TransactorProtocol
from storage.cache.fanout import QUEUE_EVENTS, Fanout
from storage.cache.reader import PATIENCE, CacheReader, Patience
from storage.cache.reflector import Pace, Reflector
from storage.cache.replay import Replay
from storage.cache.turn import Turns
from storage.cache.watch_cache import WINDOW_EVENTS, WatchCache
from storage.interface import Backend, Extract, Reader
from storage.lookaside import HARD_BOUND, LookAside
from storage.transactor import Commit, Transactor


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what is kept: events per resource, events per watcher, look-aside entries."""

    window_events: int = WINDOW_EVENTS
    queue_events: int = QUEUE_EVENTS
    lookaside_entries: int = HARD_BOUND


DEFAULT_LIMITS = Limits()
DEFAULT_PACE = Pace()


@dataclass(frozen=True, slots=True)
class Stack:
    """Storage as those above it use it. `reflector.run()` is for the composition root to start."""

    reader: Reader
    transactor: TransactorProtocol
    reflector: Reflector
    cache: WatchCache
    fanout: Fanout
    replay: Replay


def build(
    *,
    backend: Backend,
    commit: Commit,
    max_operations: int,
    extracts: Mapping[str, Extract],
    monotonic: Callable[[], float],
    jitter: Callable[[], float],
    limits: Limits = DEFAULT_LIMITS,
    pace: Pace = DEFAULT_PACE,
    patience: Patience = PATIENCE,
) -> Stack:
    """`extracts`: plural resource name -> facts of its objects. Starts nothing."""
    cache = WatchCache(extracts, window=limits.window_events)
    fanout = Fanout(cache, queue_events=limits.queue_events, monotonic=monotonic)

    def cached_revision() -> int:
        return cache.revision

    turns = Turns(patience.turn_seconds)
    replay = Replay(backend, extracts, turns=turns)

    def forget() -> None:
        transactor.forget()
        replay.forget()

    lookaside = LookAside(cached_revision, limits.lookaside_entries)
    reflector = Reflector(
        backend,
        cache,
        fanout,
        jitter=jitter,
        pace=pace,
        on_applied=lookaside.drop_passed,
        on_reloaded=forget,
    )
    transactor = Transactor(
        backend=backend,
        commit=commit,
        lookaside=lookaside,
        cached=cache.record,
        cached_revision=cached_revision,
        synced=lambda: reflector.synced,
        monotonic=monotonic,
        max_operations=max_operations,
        on_doubt=reflector.doubt,
    )
    reader = CacheReader(
        backend=backend,
        cache=cache,
        fanout=fanout,
        reflector=reflector,
        replay=replay,
        turns=turns,
        extracts=extracts,
        patience=patience,
    )
    return Stack(reader, transactor, reflector, cache, fanout, replay)
