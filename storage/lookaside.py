"""What this process knows beyond its watch cache.

The cache learns of a write when etcd's watch delivers it, some milliseconds after the commit. In
between the writers of this process would look at values that they have themselves replaced, so
what was written, deleted, or read back from etcd is kept here until the cache has passed it.

One rule: an entry is true as of its revision. The cache is true as of its own. The later wins,
compared as integers; an entry that the cache has passed is worth nothing and is dropped.
A removed key is an entry like any other (a tombstone), as of the revision of its removal.
"""

from collections.abc import Callable

from apis.meta.transaction import Snapshot

HARD_BOUND = 10_000
"""Entries at most; the oldest go first. Losing one is harmless: a guard finds out."""


class LookAside:
    """Key -> what is known of it, and as of which revision."""

    __slots__ = ("_bound", "_cached_revision", "_entries")

    def __init__(self, cached_revision: Callable[[], int], bound: int = HARD_BOUND) -> None:
        """`cached_revision` answers the revision that the watch cache is true as of."""
        self._cached_revision = cached_revision
        self._bound = bound
        self._entries: dict[str, tuple[int, Snapshot]] = {}

    def learn(self, revision: int, snapshot: Snapshot) -> None:
        """`snapshot` is true as of `revision`; ignored where something later is known."""
        entries = self._entries
        known = entries.pop(snapshot.key, None)
        if known is not None and known[0] > revision:
            revision, snapshot = known
        if revision <= self._cached_revision():
            return
        # Popped and added again: the order of the dict is the order of learning.
        entries[snapshot.key] = (revision, snapshot)
        if len(entries) > self._bound:
            del entries[next(iter(entries))]

    def later_than_cache(self, key: str) -> Snapshot | None:
        """What is known of `key` beyond the cache, or None where the cache is as good."""
        known = self._entries.get(key)
        if known is None or known[0] <= self._cached_revision():
            return None
        return known[1]

    def known(self, key: str) -> tuple[int, Snapshot] | None:
        """The entry as it is, for when there is no cache to compare with."""
        return self._entries.get(key)

    def drop_passed(self) -> None:
        """Forget, from the oldest on, what the cache has passed."""
        passed = self._cached_revision()
        entries = self._entries
        while entries:
            key = next(iter(entries))
            if entries[key][0] > passed:
                return
            del entries[key]

    def clear(self) -> None:
        """Forget everything: the revisions belong to a history that is gone."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
