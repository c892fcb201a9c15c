"""An etcd in memory: every revision kept, whole revisions delivered, compaction, outages, restores.

It is a `storage.interface.Backend` and the `commit` of a group commit in one; the contract suite
holds it to what the real ones do.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Collection, Sequence

from apis.meta.transaction import (
    Committed,
    Conflict,
    Put,
    Record,
    Snapshot,
    TooLarge,
    Transaction,
    Unavailable,
)
from storage.interface import (
    Expired,
    PastEvent,
    RawEvent,
    RawPage,
    StorageError,
    TooLargeResourceVersion,
)
from storage.versioner import LAST_POSITION, list_version, version


class MemoryBackend:
    def __init__(self) -> None:
        self.revision = 1
        self.compacted = 0
        self.down = False
        self.unreadable = False
        """Whether ranges meet a value that cannot be decoded."""
        self.commits = 0
        self.reads = 0
        self.ranges = 0
        self.replays = 0
        self._history: list[tuple[int, list[RawEvent]]] = []
        self._values: dict[str, list[tuple[int, Record | None]]] = {}
        self._changed = asyncio.Condition()
        self._broken = 0

    # --- what tests do to it -------------------------------------------------------------

    async def go_down(self) -> None:
        """Every request fails and every stream ends, until `come_up`."""
        self.down = True
        await self.break_streams()

    def come_up(self) -> None:
        self.down = False

    async def break_streams(self) -> None:
        self._broken += 1
        await self._notify()

    async def move_on(self, revisions: int = 1) -> None:
        """Another tenant writes: the revision moves and nothing is delivered."""
        self.revision += revisions

    async def report_progress(self) -> None:
        """Streams tell the present revision, as etcd's progress notification does."""
        self._history.append((self.revision, []))
        await self._notify()

    def compact(self, revision: int) -> None:
        self.compacted = revision
        self._history = [batch for batch in self._history if batch[0] > revision]

    async def restore(self, revision: int) -> None:
        """Go back to what was stored at `revision`, as a restored snapshot does."""
        self.revision = revision
        self._history = [batch for batch in self._history if batch[0] <= revision]
        for key, values in self._values.items():
            self._values[key] = [value for value in values if value[0] <= revision]
        await self.break_streams()

    # --- Backend -------------------------------------------------------------------------

    async def read(self, keys: Collection[str]) -> tuple[int, dict[str, Snapshot]]:
        await self._request()
        self.reads += 1
        return self.revision, {key: self._snapshot(key) for key in keys}

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0
    ) -> RawPage:
        await self._request()
        self.ranges += 1
        if self.unreadable:
            raise StorageError("not a record of this server")
        if revision and revision < self.compacted:
            raise Expired(f"revision {revision} is compacted")
        if revision > self.revision:
            raise TooLargeResourceVersion(list_version(revision), list_version(self.revision))
        at = revision or self.revision
        found = [
            record
            for key in sorted(self._values)
            if key.startswith(prefix)
            and key > start_after
            and (record := self._value(key, at)) is not None
        ]
        cut = found[:limit] if limit else found
        return RawPage(cut, at, len(cut) < len(found), len(found))

    async def current_revision(self) -> int:
        await self._request()
        return self.revision

    async def events(
        self, after_revision: int
    ) -> AsyncGenerator[tuple[int, Sequence[RawEvent]], None]:
        await self._request()
        if after_revision < self.compacted:
            raise Expired(f"revision {after_revision + 1} is compacted")
        broken = self._broken
        reached = after_revision
        while True:
            for revision, events in list(self._history):
                if broken != self._broken:
                    break
                if revision > reached:
                    reached = revision
                    yield revision, events
            async with self._changed:
                while broken == self._broken and not self._later_than(reached):
                    await self._changed.wait()
            if broken != self._broken:
                raise Unavailable("the stream broke")

    async def replay(
        self, after_revision: int, until_revision: int
    ) -> AsyncGenerator[tuple[int, Sequence[PastEvent]], None]:
        self.replays += 1
        await self._request()
        if after_revision < self.compacted:
            raise Expired(f"revision {after_revision + 1} is compacted")
        for revision, events in list(self._history):
            if revision > after_revision:
                await self._request()
                yield revision, [self._past(event) for event in events]
        yield self.revision, []

    # --- group commit --------------------------------------------------------------------

    async def commit(self, transaction: Transaction) -> Committed:
        await self._request()
        committed = self.write(transaction)
        await self._notify()
        return committed

    def write(self, transaction: Transaction) -> Committed:
        """As `commit`, by somebody else: also while this process cannot reach etcd."""
        self.commits += 1
        if len(transaction.writes) > LAST_POSITION:
            raise TooLarge(f"{len(transaction.writes)} writes")
        moved = {
            key: now
            for key, seen in transaction.guards.items()
            if (now := self._snapshot(key)).mod_revision != seen
        }
        if moved:
            raise Conflict(moved, self.revision)
        if not transaction.writes:
            return Committed(self.revision, {})
        self.revision += 1
        revision = self.revision
        events: list[RawEvent] = []
        records: dict[str, Record] = {}
        deleted: dict[str, int] = {}
        for position, write in enumerate(transaction.writes):
            record = None
            if isinstance(write, Put):
                record = Record(write.key, revision, position, write.body, write.header)
                records[write.key] = record
            else:
                deleted[write.key] = version(revision, position)
            self._values.setdefault(write.key, []).append((revision, record))
            events.append(RawEvent(write.key, record, revision, position))
        self._history.append((revision, events))
        return Committed(revision, records, deleted)

    # --- inside --------------------------------------------------------------------------

    async def _request(self) -> None:
        await asyncio.sleep(0)
        if self.down:
            raise Unavailable("etcd is down")

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _past(self, event: RawEvent) -> PastEvent:
        return PastEvent(event, self._value(event.key, event.mod_revision - 1))

    def _later_than(self, revision: int) -> bool:
        return bool(self._history) and self._history[-1][0] > revision

    def _value(self, key: str, revision: int) -> Record | None:
        values = self._values[key]
        index = bisect_right(values, revision, key=lambda value: value[0])
        return values[index - 1][1] if index else None

    def _snapshot(self, key: str) -> Snapshot:
        return Snapshot(key, self._value(key, self.revision) if key in self._values else None)
