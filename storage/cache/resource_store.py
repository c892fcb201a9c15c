"""The objects of one resource, in key order and by index. Pure.

Entries are replaced and never changed, so a list that was copied stays what it was.
"""

from collections.abc import Iterable
from itertools import islice

from apis.meta.transaction import Record
from apis.meta.values import valueclass
from storage.cache.ordered import Ordered
from storage.interface import Extract, Facts


@valueclass
class Entry:
    """A stored object and what selectors and indexes need of it."""

    record: Record
    facts: Facts


class ResourceStore:
    """Key -> entry. `_ordered` holds exactly what `entries` holds."""

    __slots__ = ("_indexes", "_ordered", "entries", "extract")

    def __init__(self, extract: Extract) -> None:
        self.extract = extract
        self.entries: dict[str, Entry] = {}
        self._ordered: Ordered[Entry] = Ordered()
        # index name -> value -> keys
        self._indexes: dict[str, dict[str, set[str]]] = {}

    def facts_of(self, record: Record) -> Facts:
        return self.extract(record.key, record.object())

    def put(self, entry: Entry) -> Facts | None:
        """Store; answers the facts before, None for a new key."""
        key = entry.record.key
        before = self.entries.get(key)
        self.entries[key] = entry
        self._ordered.put(key, entry)
        if before is None:
            self._index(key, entry.facts)
            return None
        if before.facts.indexes != entry.facts.indexes:
            self._unindex(key, before.facts)
            self._index(key, entry.facts)
        return before.facts

    def remove(self, key: str) -> Entry | None:
        """Remove; answers what was there."""
        entry = self.entries.pop(key, None)
        if entry is not None:
            self._ordered.remove(key)
            self._unindex(key, entry.facts)
        return entry

    def load(self, entries: Iterable[Entry]) -> None:
        """Fill an empty store, in any order."""
        self.entries = {entry.record.key: entry for entry in entries}
        self._ordered.load((key, self.entries[key]) for key in sorted(self.entries))
        for key, entry in self.entries.items():
            self._index(key, entry.facts)

    def under(self, prefix: str, start_after: str = "") -> list[Entry]:
        """The entries under `prefix` after a key, in order. `prefix` ends in a slash."""
        # A zero is the character after the slash, a NUL is the least one.
        start = start_after + "\0" if start_after else prefix
        return self._ordered.between(start, prefix[:-1] + "0")

    def __len__(self) -> int:
        return len(self.entries)

    def by_index(self, index: str, value: str, *, limit: int = 0) -> list[Record]:
        """In key order; with a limit, so many of them, whichever they are: no matter how many
        there are, no more than these are looked at."""
        keys = self._indexes.get(index, {}).get(value, ())
        some = islice(keys, limit) if limit else keys
        return [self.entries[key].record for key in sorted(some)]

    def _index(self, key: str, facts: Facts) -> None:
        for index, values in facts.indexes.items():
            by_value = self._indexes.setdefault(index, {})
            for value in values:
                by_value.setdefault(value, set()).add(key)

    def _unindex(self, key: str, facts: Facts) -> None:
        for index, values in facts.indexes.items():
            by_value = self._indexes[index]
            for value in values:
                keys = by_value.get(value)
                if keys is None:
                    continue  # a value named twice
                keys.discard(key)
                if not keys:
                    del by_value[value]
