"""What this process itself has just stored, found again when etcd's watch delivers it. No I/O.

The value that comes back is the one that was sent, if it came at the same revision and carries the
same transaction's id and position: then it need not be decoded again, and its bytes are kept once.
Its header is the one of all records with an equal one, as it is of those that are decoded.
Often the watch is quicker than the answer to the write: what has been delivered does not come again.
"""

from apis.meta.transaction import NO_HEADER, Record
from storage.etcd import records

_BOUND = 4096
"""Some four full transactions: the watch is rarely further behind, and then values are decoded."""


class OwnRecords:
    """By key; each is taken once, and the oldest go first."""

    def __init__(self) -> None:
        self._records: dict[str, tuple[bytes, Record]] = {}
        self._delivered = 0

    def follow(self, revision: int) -> None:
        """The watch delivers what comes after `revision`, and nothing of before."""
        self._delivered = revision
        self._records = {
            key: kept for key, kept in self._records.items() if kept[1].mod_revision > revision
        }

    def keep(self, record: Record, mark: bytes) -> None:
        """`mark`: as `records.mark_of` has it of the stored value."""
        kept = self._records
        kept.pop(record.key, None)
        if record.mod_revision <= self._delivered:
            return
        kept[record.key] = (mark, record)
        if len(kept) > _BOUND:
            del kept[next(iter(kept))]

    def take(self, key: str, revision: int, mark: bytes) -> Record | None:
        self._delivered = revision
        found = self._records.get(key)
        if found is None or found[1].mod_revision > revision:
            return None
        del self._records[key]
        kept_mark, record = found
        if record.mod_revision != revision or kept_mark != mark:
            return None
        if record.header is NO_HEADER:
            return record
        header = records.shared(record.header)
        return Record(key, revision, record.position, record.body, header)
