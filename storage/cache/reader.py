"""Gets, lists and watches: from the watch cache where that is right, else from etcd.

    asked for                 answered from the cache when
    consistent                it has the revision that etcd is at, within 100 ms
    not older than a version  it has that revision; one that etcd has not reached is waited for, 3 s
    0 (anything)              it has been loaded
    exact, continue           it is at exactly that revision (`exact`: and for a position in it)

The 100 ms are for an etcd that another tenant moves on: the cache hears of its own keys only. A
watch may therefore also begin at a version that etcd has and the cache has not heard of.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from apis.meta.transaction import POSITIONS, Record, Unavailable
from storage.cache.continuation import Continuation, read_token, write_token
from storage.cache.exact import later_in_revision, undo
from storage.cache.fanout import Fanout
from storage.cache.reflector import Reflector
from storage.cache.replay import Replay
from storage.cache.resumption import Resumption
from storage.cache.turn import Turns
from storage.cache.watch_cache import WatchCache, store_prefix
from storage.interface import (
    Backend,
    Event,
    Expired,
    Extract,
    Facts,
    ListOptions,
    Page,
    Predicate,
    TooLargeResourceVersion,
)
from storage.versioner import LAST_POSITION, list_version, position_of, revision_of

PAGE_KEYS = 1_000
"""Keys per range request to etcd where the client set no smaller limit."""

FIRST_PAGE_KEYS = 16
"""Of the first one, which tells how large the records are."""

PAGE_BYTES = 4 * 1024 * 1024
"""Of the records of one range request, as far as those before tell."""

RANGES_AT_ONCE = 4
"""Answers of etcd's are decoded as a whole, which takes some ten times their records."""


_LOOK_OBJECTS = 16
"""Objects that a selector judges between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long reads wait, and how long they let others wait.

    `catch_up_seconds`: for the cache to come to etcd's revision. `future_seconds`: for a version
    that etcd has not reached, and for the first load. `turn_seconds`: for how long a selector
    judges objects before other tasks get a turn; a client's selector can be of any size.
    """

    catch_up_seconds: float = 0.1
    future_seconds: float = 3.0
    turn_seconds: float = 0.002


PATIENCE = Patience()


class CacheReader:
    """`storage.interface.Reader`."""

    def __init__(
        self,
        *,
        backend: Backend,
        cache: WatchCache,
        fanout: Fanout,
        reflector: Reflector,
        replay: Replay,
        turns: Turns,
        extracts: Mapping[str, Extract],
        patience: Patience = PATIENCE,
    ) -> None:
        self._backend = backend
        self._cache = cache
        self._fanout = fanout
        self._reflector = reflector
        self._replay = replay
        self._turns = turns
        self._extracts = extracts
        self._patience = patience
        self._ranges = asyncio.Semaphore(RANGES_AT_ONCE)
        self._whole: WeakValueDictionary[str, Page] = WeakValueDictionary()

    @property
    def synced(self) -> bool:
        return self._reflector.synced

    def cached(self, prefix: str, *, not_older_than: int = 0) -> Sequence[Record] | None:
        if not self.synced or self._cache.version < not_older_than:
            return None
        return [entry.record for entry in self._cache.entries(prefix)]

    def by_index(
        self, resource: str, index: str, value: str, *, limit: int = 0
    ) -> Sequence[Record]:
        return self._cache.by_index(resource, index, value, limit=limit)

    async def current_version(self) -> int:
        revision = await self._backend.current_revision()
        await self._reflector.wait_for_revision(revision, self._patience.catch_up_seconds)
        return list_version(revision)

    # --- get -----------------------------------------------------------------------------

    async def get(self, key: str, *, resource_version: int | None = None) -> Record | None:
        if await self._cache_serves(resource_version) is None:
            return self._cache.record(key)
        revision, snapshots = await self._backend.read((key,))
        self._check_reached(resource_version, revision)
        return snapshots[key].record

    # --- list ----------------------------------------------------------------------------

    async def list(self, prefix: str, options: ListOptions) -> Page:
        if options.continue_token:
            return await self._list_on(prefix, options)
        version = options.resource_version
        if version and _is_exact(options):
            try:
                return await self._list_at(prefix, options, Continuation(version, ""))
            except TooLargeResourceVersion as error:
                raise TooLargeResourceVersion(version, error.current) from error
            except Expired as error:
                raise Expired("The resourceVersion for the provided list is too old.") from error
        revision = await self._cache_serves(version)
        if revision is None:
            return await self._list_cache(prefix, options, "")
        page = await self._list_etcd(prefix, options, "", revision)
        self._check_reached(version, revision_of(page.resource_version))
        return page

    async def _list_on(self, prefix: str, options: ListOptions) -> Page:
        continuation = read_token(prefix, options.continue_token)
        try:
            return await self._list_at(prefix, options, continuation)
        except (Expired, TooLargeResourceVersion) as error:
            # Too large: the token is of a history that etcd no longer has.
            raise Expired(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter."
            ) from error

    async def _list_at(self, prefix: str, options: ListOptions, at: Continuation) -> Page:
        """The state at exactly `at.version`, which is the page's version, too."""
        revision = revision_of(at.version)
        if not revision:
            raise Expired("etcd's first revision is 1")
        if position_of(at.version) == LAST_POSITION:
            return await self._list_revision(prefix, options, at.start_after, revision)
        page = await self._list_revision(prefix, options, at.start_after, revision)
        undone = await self._later_in_revision(prefix, at.version)
        if not undone:
            token = _token(prefix, at.version, page.records) if page.continue_token else ""
            return Page(page.records, at.version, token, page.remaining)
        page = await self._list_revision(prefix, ListOptions(), at.start_after, revision)
        rest = {key: record for key, record in undone.items() if key > at.start_after}
        return await self._cut(prefix, options, undo(page.records, rest), at.version)

    async def _list_revision(
        self, prefix: str, options: ListOptions, start_after: str, revision: int
    ) -> Page:
        if self.synced and self._cache.revision == revision:
            return await self._list_cache(prefix, options, start_after)
        return await self._list_etcd(prefix, options, start_after, revision)

    async def _later_in_revision(self, prefix: str, version: int) -> dict[str, Record | None]:
        events: Sequence[Event] | None = None
        if self.synced and self._cache.revision >= revision_of(version):
            events = self._cache.later(prefix, version, POSITIONS)
        if events is None:
            piece = await self._replay.piece(version, revision_of(version))
            events = piece.later(version)
        return later_in_revision(events, prefix, version)

    async def _cut(
        self, prefix: str, options: ListOptions, records: Sequence[Record], version: int
    ) -> Page:
        """What `options` ask for of `records`, which are all from where the page begins."""
        limit, predicate = options.limit, options.predicate
        found: list[Record] = []
        turn = await self._turns.begin()
        for index, record in enumerate(records, 1):
            if predicate is None or predicate(self._facts(record)):
                found.append(record)
                if len(found) == limit and index < len(records):
                    remaining = len(records) - index if predicate is None else None
                    return Page(found, version, _token(prefix, version, found), remaining)
            if index % _LOOK_OBJECTS == 0 and turn.is_over():
                await turn.give()
        return Page(found, version)

    async def _list_cache(self, prefix: str, options: ListOptions, start_after: str) -> Page:
        """All that is read of the cache is read at once, some 100 ns an object; the selector then
        works on the copy. Whole lists of one version are one page for as long as somebody has it."""
        version = self._cache.version
        if not (options.limit or options.predicate or start_after):
            page = self._whole.get(prefix)
            if page is None or page.resource_version != version:
                records = [entry.record for entry in self._cache.entries(prefix)]
                page = self._whole[prefix] = Page(records, version)
            return page
        entries = self._cache.entries(prefix, start_after)
        limit, predicate = options.limit, options.predicate
        total = len(entries)
        if limit and predicate is None:
            del entries[limit:]
        if predicate is None:
            records = [entry.record for entry in entries]
            if len(records) == total:
                return Page(records, version)
            return Page(records, version, _token(prefix, version, records), total - len(records))
        records = []
        turn = await self._turns.begin()
        for index, entry in enumerate(entries, 1):
            if predicate(entry.facts):
                records.append(entry.record)
                if len(records) == limit:
                    token = _token(prefix, version, records) if index < total else ""
                    return Page(records, version, token)
            if index % _LOOK_OBJECTS == 0 and turn.is_over():
                await turn.give()
        return Page(records, version)

    async def _list_etcd(
        self, prefix: str, options: ListOptions, start_after: str, revision: int
    ) -> Page:
        """Range requests at one revision (0: that of the first) until the limit or the end."""
        limit, predicate = options.limit, options.predicate
        records: list[Record] = []
        turn = await self._turns.begin()
        most = FIRST_PAGE_KEYS
        while True:
            size = most
            if limit and predicate is None:
                size = min(most, limit - len(records))
            async with self._ranges:
                page = await self._backend.range(
                    prefix, start_after=start_after, limit=size, revision=revision
                )
            revision = revision or page.revision
            version = list_version(revision)
            for index, record in enumerate(map(self._shared, page.records), 1):
                if predicate is None or predicate(self._facts(record)):
                    records.append(record)
                    if len(records) == limit and (page.more or index < len(page.records)):
                        remaining = page.count - index if predicate is None else None
                        return Page(records, version, _token(prefix, version, records), remaining)
                    if len(records) == limit:
                        return Page(records, version)
                if index % _LOOK_OBJECTS == 0 and turn.is_over():
                    await turn.give()
            if not page.more or not page.records:
                return Page(records, version)
            start_after = page.records[-1].key
            most = _page_keys(page.records)

    def _shared(self, record: Record) -> Record:
        """The cache's own, where it is the same: lists of the past share what has not changed."""
        cached = self._cache.record(record.key)
        if cached is None or cached.mod_revision != record.mod_revision:
            return record
        return cached if cached == record else record

    def _facts(self, record: Record) -> Facts:
        resource = store_prefix(record.key).split("/")[1]
        extract = self._extracts.get(resource)
        return extract(record.key, record.object()) if extract is not None else Facts()

    # --- watch ---------------------------------------------------------------------------

    @asynccontextmanager
    async def watch(
        self, prefix: str, since: int, predicate: Predicate | None
    ) -> AsyncIterator[Resumption]:
        resumption = await self._resume(prefix, since, predicate)
        try:
            yield resumption
        finally:
            resumption.close()

    async def _resume(self, prefix: str, since: int, predicate: Predicate | None) -> Resumption:
        """Waits until nothing speaks against `since`."""
        if not await self._reflector.wait_until_synced(self._patience.future_seconds):
            raise Unavailable("the watch cache has not been loaded")
        revision = revision_of(since)
        if since and not revision:
            # No client has seen a version of etcd's first, empty revision.
            raise Expired(f"too old resource version: {since} ({self._cache.version})")
        if revision > self._cache.revision:
            current = await self._backend.current_revision()
            if current < revision:
                await self._wait_for_future(since)
        # No wait from here on: the cache does not move between the check and the start.
        return Resumption(
            cache=self._cache,
            fanout=self._fanout,
            replay=self._replay,
            prefix=prefix,
            since=since or self._cache.version,
            predicate=predicate,
            turns=self._turns,
            check_synced=self._check_synced,
        )

    def _check_synced(self) -> None:
        if not self.synced:
            raise Unavailable(self._reflector.fault or "the watch cache is not kept")

    # --- freshness -----------------------------------------------------------------------

    async def _cache_serves(self, resource_version: int | None) -> int | None:
        """None where the cache may answer; else the revision to read etcd at (0: the newest)."""
        if not self.synced:
            return 0
        if resource_version is None:
            known = self._cache.revision
            revision = await self._backend.current_revision()
            if revision < known:
                # A linearizable answer cannot be older than what was known before the question.
                self._reflector.doubt()
                return revision
        elif revision_of(resource_version) <= self._cache.revision:
            return None
        else:
            revision = revision_of(resource_version)
            if await self._backend.current_revision() < revision:
                await self._wait_for_future(resource_version)
                return None
        if await self._reflector.wait_for_revision(revision, self._patience.catch_up_seconds):
            return None
        return revision if resource_version is None else 0

    async def _wait_for_future(self, version: int) -> None:
        """For a version that etcd has not reached: a replica or a restored etcd may lag."""
        if not await self._reflector.wait_for_revision(
            revision_of(version), self._patience.future_seconds
        ):
            raise TooLargeResourceVersion(version, self._cache.version)

    @staticmethod
    def _check_reached(resource_version: int | None, revision: int) -> None:
        if resource_version and revision < revision_of(resource_version):
            raise TooLargeResourceVersion(resource_version, list_version(revision))


def _page_keys(records: Sequence[Record]) -> int:
    """How many keys to ask for after `records`, which are some."""
    mean = sum(len(record.body) for record in records) // len(records)
    return max(1, min(PAGE_KEYS, PAGE_BYTES // max(mean, 1)))


def _is_exact(options: ListOptions) -> bool:
    """A limit with a version and no match means exact, as kube-apiserver has it."""
    return options.match == "Exact" or (options.match == "" and options.limit > 0)


def _token(prefix: str, version: int, records: Sequence[Record]) -> str:
    return write_token(prefix, Continuation(version, records[-1].key))
