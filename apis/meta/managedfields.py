"""`metadata.managedFields`: who owns which fields of an object, after each write.

A manager is a client by name; its entry is told from others by the name, the operation (`Apply`,
or `Update` for everything else), the API version of an update, and the subresource. An entry is
kept as the JSON that is stored. What a write does to the entries is structured-merge-diff's:

* A field that a write changes or adds is its manager's, and no longer anybody else's.
* A field that it removes is nobody's.
* An entry that owns nothing is dropped; its `time` is that of the last write that gave it a field.

An object without entries is not tracked, until somebody applies to it: a client that sets
`managedFields` to `[]` or `[{}]` ends the tracking.

What the server keeps for itself (the system's metadata, `Resource.server_status`) is nobody's.
"""

from collections.abc import Iterable
from typing import Any, Final

from apis.meta import fieldset
from apis.meta.fieldset import FieldSet
from apis.meta.managers import (
    UPDATE,
    Entries,
    Entry,
    capped,
    given_entries,
    identity,
    in_order,
    timeless,
)
from apis.meta.resource import Resource
from apis.meta.structure import ABSENT
from apis.meta.transaction import Object
from apis.meta.typed import same
from apis.meta.typed_kinds import STATUS, object_type
from apis.meta.typed_objects import Fields, compare_objects

BEFORE_APPLY: Final = "before-first-apply"
"""Who owns what an untracked object has when somebody applies to it."""

_EMPTY: Final[Object] = {"metadata": {}}


class Ownership:
    """The entries of one kind's objects. Made once per kind; it holds no state."""

    __slots__ = ("_types", "api_version")

    def __init__(self, resource: Resource) -> None:
        self.api_version = resource.api_version
        self._types = {"": object_type(resource)}
        if resource.has_status:
            self._types[STATUS] = object_type(resource, STATUS)

    def type_of(self, subresource: str) -> Fields:
        return self._types[subresource]

    def created(self, obj: Object, *, manager: str, now: str, given: Any = ABSENT) -> Entries:
        """The entries of a new object, the way it is to be stored. `given` are the client's own."""
        taken, _ = compare_objects(self._types[""], _EMPTY, obj)
        entries = self.taken_from(given_entries(given, ABSENT), taken, {})
        if not taken:
            return entries
        fields = fieldset.ordered(taken) if entries else _top(taken)
        mine = self.entry(manager, UPDATE, subresource="", time=now, fields=fields)
        return in_order(self._joined(entries, mine))

    def updated(
        self,
        new: Object,
        old: Object,
        *,
        manager: str,
        now: str,
        subresource: str = "",
        given: Any = ABSENT,
    ) -> Entries:
        """The entries after `new` replaced `old`: the same list where nothing changed.

        `given` are the entries in the client's object: they count unless they are the stored
        ones, are unreadable, or come by way of a subresource.
        """
        stored: Entries = old["metadata"].get("managedFields") or []
        entries = stored if subresource else given_entries(given, stored)
        if not entries:
            return entries
        changed, removed = compare_objects(self._types[subresource], old, new)
        if not changed and not removed and entries is stored:
            return stored
        rest = self.taken_from(entries, changed, removed)
        if changed:
            fields = fieldset.ordered(changed)
            mine = self.entry(manager, UPDATE, subresource=subresource, time=now, fields=fields)
            rest = self._joined(rest, mine)
        return in_order(capped(rest))

    def taken_from(self, entries: Iterable[Entry], changed: FieldSet, removed: FieldSet) -> Entries:
        """What is left of entries when somebody else changed and removed fields.

        Entries of a version that is not served are dropped: nobody can tell what they own.
        """
        left = []
        for entry in entries:
            if entry["apiVersion"] != self.api_version:
                continue
            kept = _less(entry, changed, removed)
            if kept is not None:
                left.append(kept)
        return left

    def before_first_apply(self, live: Object, *, subresource: str, now: str) -> Entries:
        taken, _ = compare_objects(self._types[subresource], _EMPTY, live)
        if not taken:
            return []
        fields = fieldset.ordered(taken)
        return [self.entry(BEFORE_APPLY, UPDATE, subresource=subresource, time=now, fields=fields)]

    def entry(
        self, manager: str, operation: str, *, subresource: str, time: str | None, fields: FieldSet
    ) -> Entry:
        entry: Entry = {
            "manager": manager or "unknown",
            "operation": operation,
            "apiVersion": self.api_version,
        }
        if time is not None:
            entry["time"] = time
        entry["fieldsType"] = "FieldsV1"
        entry["fieldsV1"] = fields
        if subresource:
            entry["subresource"] = subresource
        return entry

    def _joined(self, entries: Entries, mine: Entry) -> Entries:
        """`entries` and `mine`, which takes up an earlier entry of the same identity."""
        me = identity(mine)
        others = []
        for entry in entries:
            if identity(entry) == me:
                fields = fieldset.union(mine["fieldsV1"], entry["fieldsV1"])
                mine = {**mine, "fieldsV1": fields}
            else:
                others.append(entry)
        return [*others, mine]


def keep_times(new: Object, old: Object) -> None:
    """Take back entries that differ from the stored ones in nothing but their times.

    For a write that otherwise changed nothing, such as an apply whose changes the server undid.
    """
    before, after = old["metadata"].get("managedFields"), new["metadata"].get("managedFields")
    if before is after or not before or not after or timeless(before) != timeless(after):
        return
    if same(untracked(new), untracked(old)):
        new["metadata"]["managedFields"] = before


def untracked(obj: Object) -> Object:
    """The object without its entries."""
    if "managedFields" not in obj["metadata"]:
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def _top(taken: FieldSet) -> FieldSet:
    """A new object's fields: the levels below the top two are in order already."""
    ordered = {key: taken[key] for key in sorted(taken)}
    metadata = ordered.get("f:metadata")
    if metadata:
        ordered["f:metadata"] = {key: metadata[key] for key in sorted(metadata)}
    return ordered


def _less(entry: Entry, *sets: FieldSet) -> Entry | None:
    """The entry without the members of `sets`; None where nothing is left."""
    fields = before = entry["fieldsV1"]
    for each in sets:
        if each:
            fields = fieldset.difference(fields, each)
    if not fields:
        return None
    return entry if fields is before else {**entry, "fieldsV1": fields}
