"""Whether etcd's history is still the one that this process knows. No I/O.

After a backup was restored the same revisions are given out again, with other contents. A restored
etcd may even have the id of the old one (`etcdctl snapshot restore` computes it from the peers'
addresses), and when other replicas write, it is soon past every revision that this process has
seen. So neither ids nor revisions tell. Values do: each holds the random id of the transaction that
stored it. Two histories in which one revision has the same id are the same up to that revision.

So a Txn compares, besides the revisions of its guards, the id at the newest of them. If that holds,
all its guards are of this history, since theirs are older revisions of the same one.
"""

from collections.abc import Mapping

from storage.etcd import records

_BOUND = 20_000
"""Some 450 bytes each: 9 MB in a process that has seen so many keys."""


class Marks:
    """The marks (`records`) of the newest values seen, by key; bounded, the oldest seen go first."""

    def __init__(self) -> None:
        self._marks: dict[str, tuple[int, bytes]] = {}

    def note(self, key: str, revision: int, value: bytes) -> None:
        """`value`, or its beginning, is what `key` holds since `revision`."""
        mark = records.mark_of(value)
        if not mark:
            return
        marks = self._marks
        marks.pop(key, None)
        marks[key] = (revision, mark)
        if len(marks) > _BOUND:
            del marks[next(iter(marks))]

    def newest(self, guards: Mapping[str, int]) -> tuple[str, bytes] | None:
        """The guard at the latest revision, and its mark; None where none is known."""
        best, at = None, 0
        known = self._marks
        for key, revision in guards.items():
            if revision > at:
                found = known.get(key)
                if found is not None and found[0] == revision:
                    best, at = (key, found[1]), revision
        return best
