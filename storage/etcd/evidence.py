"""What a Txn's guards and its fence tell, read after its compare failed. Pure: no I/O.

etcd says that the Txn was not applied, and means the copy that it answers. What stands before etcd,
a proxy or a library, may have sent another one, which was applied before, or arrives later. Then the
group is applied all the same, and its members must not be told otherwise.
"""

from collections.abc import Mapping, Sequence

from storage.etcd import records, wire
from storage.etcd.merging import Group


class Evidence:
    """`fence` and `ranges`: what a range of the fence, and of each guard, answered at one revision.
    `moved`: of the guards that do not hold. `fence_moved`: whether the fence is not the one that
    was compared."""

    def __init__(
        self,
        group: Group,
        fence: wire.Message,
        ranges: Sequence[wire.Message],
        *,
        compared_fence: int,
    ) -> None:
        self._group = group
        self._fence = fence
        self._ranges = ranges
        self._fence_moved = modified(fence) != compared_fence
        self.moved: Mapping[str, wire.Message] = {
            key: found
            for (key, guarded), found in zip(group.guards.items(), ranges, strict=True)
            if modified(found) != guarded
        }

    def is_other_history(self, newest: int, marked: tuple[str, bytes] | None) -> bool:
        """Whether it cannot follow what was known: a revision that went backwards, or a value that
        another transaction than the one in `marked` stored at the same one."""
        for (key, revision), found in zip(self._group.guards.items(), self._ranges, strict=True):
            at = modified(found)
            if revision > newest or 0 < at < revision:
                return True
            if marked is not None and key == marked[0] and at == revision:
                value = wire.unb64(found["kvs"][0].get("value", ""))
                if records.mark_of(value) != marked[1]:
                    return True
        return False

    def applied_at(self, identifier: bytes) -> int:
        """The revision of a written key, or of the fence, that carries the group's id; 0: none."""
        guards = zip(self._group.guards, self._ranges, strict=True)
        for found in (self._fence, *(r for key, r in guards if key in self._group.written)):
            kvs = found.get("kvs")
            if kvs:
                value = wire.unb64(kvs[0].get("value", ""))
                if records.transaction_of(value) == identifier:
                    return wire.number(kvs[0], "mod_revision")
        return 0

    def decided_at(self) -> int | None:
        """None: no copy was applied, or can be. Else one may have been, and everything that it wrote
        may be overwritten or deleted since: events up to this revision tell, or, where it is 0, up
        to a fence that has to be raised, since it may yet be applied.

        Once a value has moved it cannot be applied any more; a name that is taken may be free again.
        It was not applied where a value that it writes has not moved; a name that is absent may have
        been created and deleted.
        """
        guards = self._group.guards
        if not self._group.written:
            return None
        if not any(guards[key] for key in self.moved):
            return 0
        values = [key for key in self._group.written if guards[key]]
        if self._group.raises_fence and not self._fence_moved:
            return None
        if not all(key in self.moved for key in values):
            return None
        # Who wrote these values did so after a copy that was applied.
        return max((modified(self.moved[key]) for key in values), default=0)


def modified(found: wire.Message) -> int:
    """The mod_revision in what a range of one key answered; 0 where the key is absent."""
    kvs = found.get("kvs")
    return wire.number(kvs[0], "mod_revision") if kvs else 0
