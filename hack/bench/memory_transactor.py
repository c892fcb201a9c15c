"""A store that costs next to nothing, so that what is measured above it is admission's own work."""

from collections.abc import Collection, Mapping

from apis.meta.transaction import Committed, Conflict, Put, Record, Snapshot, Transaction
from storage.claims import Claims


class MemoryTransactor(Claims):
    """`apis.meta.transaction.Transactor`, with the claims of the real one. A dictionary is the store."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[str, Record] = {}
        self.revision = 1
        self.commits = 0

    @property
    def max_operations(self) -> int:
        return 128

    def known(self, key: str) -> Snapshot:
        return self._snapshot(key)

    async def newest(self, keys: Collection[str]) -> dict[str, Snapshot]:
        return {key: self._snapshot(key) for key in keys}

    async def confirm(self, seen: Mapping[str, int]) -> bool:
        return all(self._snapshot(key).mod_revision == revision for key, revision in seen.items())

    async def commit(self, transaction: Transaction) -> Committed:
        self.commits += 1
        moved = {
            key: now
            for key, seen in transaction.guards.items()
            if (now := self._snapshot(key)).mod_revision != seen
        }
        if moved:
            raise Conflict(moved, self.revision)
        self.revision += 1
        written: dict[str, Record] = {}
        for position, write in enumerate(transaction.writes):
            if not isinstance(write, Put):
                raise NotImplementedError("nothing here deletes")
            written[write.key] = Record(
                write.key, self.revision, position, write.body, write.header
            )
        self.records.update(written)
        return Committed(self.revision, written)

    def _snapshot(self, key: str) -> Snapshot:
        return Snapshot(key, self.records.get(key))
