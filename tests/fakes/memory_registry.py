"""Storage and gate in memory, for tests of the registry: small, and honest about what it keeps.

Guards are compared, revisions count up, every record is immutable, and a value that a test hides
(`MemoryStore.lag`) is what `newest` shows until a confirmation or a conflict brings the truth,
as with a watch cache that is behind.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from apis.meta.request import Attributes
from apis.meta.transaction import (
    POSITIONS,
    Claim,
    Committed,
    Conflict,
    Delete,
    Object,
    Put,
    Record,
    Snapshot,
    Transaction,
    encode_body,
)
from storage.interface import (
    BadContinueToken,
    Delivery,
    Event,
    Extract,
    Facts,
    ListOptions,
    Page,
    Predicate,
    Subscription,
    TooLargeResourceVersion,
)


class MemoryStore:
    """A Transactor and a Reader over one dict; `transactions` are those that were applied."""

    max_operations = 128
    synced = True

    def __init__(self, extract: Extract = lambda _key, _obj: Facts()) -> None:
        self.records: dict[str, Record] = {}
        self.revision = 1
        self.transactions: list[Transaction] = []
        self.failures: list[Exception] = []
        """Raised one by one by what is called next."""
        self._history: dict[int, dict[str, Record]] = {}
        self._events: list[Event] = []
        self._extract = extract
        self._hidden: dict[str, Record | None] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed = asyncio.Event()

    def lag(self, key: str, shown: Record | None) -> None:
        """Let `newest` answer with `shown` until this process finds out."""
        self._hidden[key] = shown

    def held(self, key: str) -> bool:
        return self._locks[key].locked()

    # Transactor

    def claim_object(self, key: str) -> AbstractAsyncContextManager[None]:
        return self._locks[key]

    def try_claim(self, exclusive: Collection[str], shared: Collection[str]) -> Claim | None:
        raise NotImplementedError("the registry claims objects only")

    def on_release(self, listener: Callable[[], None]) -> None:
        raise NotImplementedError("the registry claims objects only")

    def known(self, key: str) -> Snapshot | None:
        """Nothing for certain, where the next call is to fail."""
        if self.failures:
            return None
        return Snapshot(key, {**self.records, **self._hidden}.get(key))

    async def newest(self, keys: Collection[str]) -> dict[str, Snapshot]:
        self._fail()
        shown = {**self.records, **self._hidden}
        return {key: Snapshot(key, shown.get(key)) for key in keys}

    async def confirm(self, seen: Mapping[str, int]) -> bool:
        self._fail()
        for key in seen:
            self._hidden.pop(key, None)
        return all(self._revision_of(key) == revision for key, revision in seen.items())

    async def commit(self, transaction: Transaction) -> Committed:
        self._fail()
        moved = {
            key: Snapshot(key, self.records.get(key))
            for key, revision in transaction.guards.items()
            if self._revision_of(key) != revision
        }
        if moved:
            for key in moved:
                self._hidden.pop(key, None)
            raise Conflict(moved, self.revision)
        return self.apply(transaction)

    def apply(self, transaction: Transaction) -> Committed:
        """Write without looking at guards: what another replica does meanwhile."""
        self._history[self.revision] = dict(self.records)
        self.revision += 1
        self.transactions.append(transaction)
        records: dict[str, Record] = {}
        deleted: dict[str, int] = {}
        for position, write in enumerate(transaction.writes):
            record = self._write(write, position)
            if isinstance(write, Put):
                records[write.key] = record
            else:
                deleted[write.key] = record.resource_version
        self._changed.set()
        self._changed = asyncio.Event()
        return Committed(self.revision, records, deleted)

    def _write(self, write: Put | Delete, position: int) -> Record:
        """The new value, or of a removed key the last one with the version of the removal."""
        previous = self.records.get(write.key)
        before = self._facts(previous) if previous else None
        if isinstance(write, Put):
            record = Record(write.key, self.revision, position, write.body, write.header)
            self.records[write.key] = record
            self._events.append(Event(record, self._facts(record), before))
            return record
        assert previous is not None, "a delete is guarded at a revision at which it exists"
        del self.records[write.key]
        record = Record(write.key, self.revision, position, previous.body, previous.header)
        self._events.append(Event(record, None, before))
        return record

    def _revision_of(self, key: str) -> int:
        record = self.records.get(key)
        return record.mod_revision if record else 0

    def _facts(self, record: Record) -> Facts:
        return self._extract(record.key, record.object())

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)

    # Reader

    @property
    def _version(self) -> int:
        return self.revision * POSITIONS + POSITIONS - 1

    async def get(self, key: str, *, resource_version: int | None = None) -> Record | None:
        self._fail()
        self._reach(resource_version or 0)
        return self.records.get(key)

    async def list(self, prefix: str, options: ListOptions) -> Page:
        self._fail()
        self._reach(options.resource_version or 0)
        revision, after = self.revision, ""
        if options.continue_token:
            head, _, after = options.continue_token.partition(":")
            if not head.isdigit():
                raise BadContinueToken("continue key is not valid")
            revision = int(head)
        records = self.records if revision == self.revision else self._history[revision]
        found = [
            record
            for key, record in sorted(records.items())
            if key.startswith(prefix)
            and key > after
            and (options.predicate is None or options.predicate(self._facts(record)))
        ]
        shown = found[: options.limit] if options.limit else found
        more = len(found) - len(shown)
        token = f"{revision}:{shown[-1].key}" if more else ""
        return Page(shown, revision * POSITIONS + POSITIONS - 1, token, more or None)

    def watch(
        self, prefix: str, since: int, predicate: Predicate | None
    ) -> AbstractAsyncContextManager[Subscription]:
        return self._watch(prefix, since, predicate)

    @asynccontextmanager
    async def _watch(
        self, prefix: str, since: int, predicate: Predicate | None
    ) -> AsyncIterator[Subscription]:
        self._fail()
        self._reach(since)
        yield _MemorySubscription(self, prefix, since, predicate)

    def cached(self, prefix: str, *, not_older_than: int = 0) -> Sequence[Record] | None:
        if not self.synced or self._version < not_older_than:
            return None
        return [self.records[key] for key in sorted(self.records) if key.startswith(prefix)]

    def by_index(
        self, resource: str, index: str, value: str, *, limit: int = 0
    ) -> Sequence[Record]:
        raise NotImplementedError("the registry asks no index")

    async def current_version(self) -> int:
        self._fail()
        return self._version

    def _reach(self, version: int) -> None:
        if version > self._version:
            raise TooLargeResourceVersion(version, self._version)


class _MemorySubscription:
    def __init__(
        self, store: MemoryStore, prefix: str, since: int, predicate: Predicate | None
    ) -> None:
        self._store, self._prefix, self._predicate = store, prefix, predicate
        self.progress = since

    def deliver(self, delivery: Delivery) -> None:
        """It goes on handing out."""

    async def next(self, timeout_seconds: float) -> Sequence[Event]:
        store = self._store
        store._fail()
        if not (found := self._pending()):
            try:
                await asyncio.wait_for(store._changed.wait(), timeout_seconds)
            except TimeoutError:
                return ()
            found = self._pending()
        self.progress = store._version
        return found

    def _pending(self) -> list[Event]:
        return [event for event in self._store._events if self._concerns(event)]

    def _concerns(self, event: Event) -> bool:
        if event.resource_version <= self.progress or not event.record.key.startswith(self._prefix):
            return False
        sides = [facts for facts in (event.facts, event.previous) if facts is not None]
        return self._predicate is None or any(map(self._predicate, sides))


@dataclass
class MemoryGate:
    """Admits everything that `judge` lets pass, each object in a transaction of its own.

    `before_commit` runs once each, in order: what other replicas do at the worst moment.
    """

    store: MemoryStore
    judge: Callable[[Attributes], None] = lambda _attributes: None
    before_commit: list[Callable[[], object]] = field(default_factory=list)
    admitted: list[Attributes] = field(default_factory=list)

    async def admit(
        self, attributes: Attributes, key: str, old: Record | None, obj: Object | None
    ) -> Committed | None:
        assert self.store.held(key), "the caller holds the claim of the object's key"
        self.judge(attributes)
        if attributes.dry_run:
            return None
        if self.before_commit:
            self.before_commit.pop(0)()
        write = Delete(key) if obj is None else Put(key, encode_body(obj))
        guards = {key: old.mod_revision if old else 0}
        committed = await self.store.commit(Transaction(guards, [write]))
        self.admitted.append(attributes)
        return committed
