"""Server-side apply: an applied configuration, laid over the live object by who owns what.

What a manager applied before, no longer applies and nobody else owns, goes. What another manager
owns and the configuration would change is a conflict, unless it is forced: then the field changes
hands. The rules, and the words, are those of structured-merge-diff and kube-apiserver.

A configuration that does not fit the schema is a 400, in the words of kube-apiserver's 500.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apis.meta import codec, errors, fieldset
from apis.meta.fields import go_quote
from apis.meta.fieldset import FieldSet
from apis.meta.managedfields import Ownership, untracked
from apis.meta.managers import APPLY, UPDATE, Entries, Entry, identity, in_order, timeless
from apis.meta.resource import Resource
from apis.meta.transaction import Object
from apis.meta.typed import same
from apis.meta.typed_objects import Fields, compare_objects

KUBECTL: Final = "kubectl"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""What `kubectl apply` without the server's help leaves behind. Its `--server-side` takes over
what it had applied without conflicts, and keeps the annotation up to date."""


@dataclass(frozen=True, slots=True)
class Applied:
    """`obj` is the wanted object, with its entries in `metadata.managedFields`.

    It is the live object itself where the apply changes nothing at all.
    """

    obj: Object
    entries: Entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """Who applies, and how. `now` is RFC 3339."""

    manager: str
    now: str
    force: bool = False
    subresource: str = ""


class _ConflictsError(Exception):
    """`by_entry` are the others' entries, each with the fields that would change hands."""

    def __init__(self, by_entry: list[tuple[Entry, FieldSet]]) -> None:
        super().__init__()
        self.by_entry = by_entry


class Applier:
    """Server-side apply to one kind's objects. Made once per kind; it holds no state."""

    __slots__ = ("_ownership", "_resource")

    def __init__(self, resource: Resource, ownership: Ownership) -> None:
        self._resource = resource
        self._ownership = ownership

    def apply(self, live: Object | None, config: Any, how: Apply) -> Applied:
        """`live` is None where there is no object yet. Neither argument is changed.

        Raises StatusError: 400 for a configuration that is none or does not fit the schema, 409 for
        conflicts.
        """
        config = self._checked(config, how)
        base = live
        if base is None:
            base = {key: config[key] for key in ("apiVersion", "kind")}
            base["metadata"] = {}
        entries: Entries = base["metadata"].get("managedFields") or []
        if not entries and live is not None:
            entries = self._ownership.before_first_apply(
                live, subresource=how.subresource, now=how.now
            )
        try:
            return self._applied(base, config, entries, how, force=how.force)
        except _ConflictsError as conflicts:
            if how.manager == KUBECTL:
                allowed = self._last_applied(base, how)
                left = _less_allowed(conflicts.by_entry, allowed)
                if not left:
                    return self._applied(base, config, entries, how, force=True)
                raise _conflict(left) from None
            raise _conflict(conflicts.by_entry) from None

    def _checked(self, config: Any, how: Apply) -> Object:
        """A copy of the configuration in canonical form."""
        if not isinstance(config, dict):
            why = f"json: cannot unmarshal {codec.json_type(config)} into Go value of type map[string]interface {{}}"
            raise errors.bad_request(
                f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}"
            )
        kind, group_version = _group_version_kind(config)
        if (group_version, kind) != (self._resource.api_version, self._resource.kind):
            shown = group_version if "/" in group_version else f"/{group_version}"
            raise errors.bad_request(f"invalid object type: {shown}, Kind={kind}")
        metadata = config.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
            raise errors.bad_request("metadata.managedFields must be nil")
        checked: Object = codec.copy(config)
        faults: list[str] = []
        self._ownership.type_of(how.subresource).check(checked, "", faults)
        if faults:
            raise errors.bad_request(
                f"failed to create typed patch object ({self._shown(metadata)}): {_told(faults)}"
            )
        if checked.get("metadata") is None:
            checked["metadata"] = {}
        return checked

    def _shown(self, metadata: Any) -> str:
        """`namespace/name; group/version, Kind=kind`, as the configuration has them."""
        named: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
        texts = (named.get(key) for key in ("namespace", "name"))
        namespace, name = (text if isinstance(text, str) else "" for text in texts)
        return f"{namespace}/{name}; {self._resource.api_version}, Kind={self._resource.kind}"

    def _applied(
        self, live: Object, config: Object, entries: Entries, how: Apply, *, force: bool
    ) -> Applied:
        kind = self._ownership.type_of(how.subresource)
        me = (how.manager, APPLY, "", how.subresource)
        mine = next((entry for entry in entries if identity(entry) == me), None)
        # Entries of a version that is not served go: nobody can tell what they own.
        served = [each for each in entries if each["apiVersion"] == self._resource.api_version]
        others = [entry for entry in served if entry is not mine]
        stated = kind.stated(config) or {}
        new = kind.merge(untracked(live), config)
        if mine is not None and mine["apiVersion"] == self._resource.api_version:
            owned = [stated, *(entry["fieldsV1"] for entry in others)]
            pruned = _pruned(kind, new, last=mine["fieldsV1"], stated=stated, owned=owned)
            # An empty list or object is in no set, so that it may have gone with what it was in.
            new = pruned if pruned is new else kind.merge(pruned, config)
        moved = not same(new, untracked(live))
        left = others
        if moved:
            changed, removed = compare_objects(kind, live, new)
            if not force:
                _refuse_conflicts(others, changed)
            left = self._ownership.taken_from(others, changed, removed)
        if fields := _without_metadata(stated):
            time = how.now if moved else (mine or {}).get("time")
            entry = self._ownership.entry(
                how.manager, APPLY, subresource=how.subresource, time=time, fields=fields
            )
            left = [*left, entry]
        if how.manager == KUBECTL:
            moved = _sync_last_applied(new, config) or moved
        if not moved and timeless(left) == timeless(live["metadata"].get("managedFields") or []):
            return Applied(live, live["metadata"].get("managedFields") or [])
        result = in_order(left)
        if result:
            new["metadata"] = {**new["metadata"], "managedFields": result}
        return Applied(new, result)

    def _last_applied(self, live: Object, how: Apply) -> FieldSet:
        """What `kubectl apply` had applied and is still so."""
        text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
        if not text:
            return {}
        try:
            last = codec.decode_json(text.encode()).value
        except codec.DecodeError:
            return {}
        if not isinstance(last, dict) or last.get("apiVersion") != self._resource.api_version:
            return {}
        kind = self._ownership.type_of(how.subresource)
        faults: list[str] = []
        kind.check(last, "", faults)
        if faults:
            return {}
        changed, removed = compare_objects(kind, last, live)
        stated = kind.stated(last) or {}
        return fieldset.difference(fieldset.difference(stated, changed), removed)


def _group_version_kind(config: Mapping[str, Any]) -> tuple[str, str]:
    """(kind, apiVersion) as Go reads them: an apiVersion of three parts is none, nor is its kind."""
    texts = (config.get(key) for key in ("kind", "apiVersion"))
    kind, version = (text if isinstance(text, str) else "" for text in texts)
    return ("", "") if version.count("/") > 1 else (kind, version)


def _without_metadata(stated: FieldSet) -> FieldSet:
    """`.metadata` itself is the system's."""
    return fieldset.difference(stated, {"f:metadata": fieldset.LEAF})


def _pruned(
    kind: Fields, merged: Object, *, last: FieldSet, stated: FieldSet, owned: list[FieldSet]
) -> Object:
    """Without what this manager applied before and applies no longer, unless it is owned.

    1. Remove everything that it applied before.
    2. Give back what somebody owns, this manager's new configuration included.
    3. Of what is gone still, remove what it applied before and nobody owns, and nothing else.

    An undeclared field, a key of a map or an item of a list goes with all that is in it, even
    where an update made a part of that somebody else's.
    """
    if not fieldset.difference(last, stated):
        return merged
    before = kind.named(last)
    everything = kind.named(kind.stated(merged) or {})
    everybodys: FieldSet = {}
    for fields in owned:
        everybodys = fieldset.union(everybodys, fields)
    everybodys = kind.named(everybodys)
    kept = kind.named(kind.stated(kind.without(merged, before)) or {})
    kept = fieldset.union(kept, everybodys)
    pruned = kind.without(merged, fieldset.difference(everything, kept))
    left = kind.named(kind.stated(pruned) or {})
    gone = fieldset.intersection(fieldset.difference(everything, left), before)
    # What holds nothing but empty lists is in no set that is read off an object.
    result: Object = kind.without(merged, fieldset.difference(gone, everybodys))
    return result


def _refuse_conflicts(others: Entries, changed: FieldSet) -> None:
    found = [(entry, fieldset.intersection(entry["fieldsV1"], changed)) for entry in others]
    found = [(entry, fields) for entry, fields in found if fields]
    if found:
        raise _ConflictsError(found)


def _less_allowed(
    conflicts: list[tuple[Entry, FieldSet]], allowed: FieldSet
) -> list[tuple[Entry, FieldSet]]:
    left = [(entry, fieldset.difference(fields, allowed)) for entry, fields in conflicts]
    return [(entry, fields) for entry, fields in left if fields]


def _sync_last_applied(new: Object, config: Object) -> bool:
    """Bring kubectl's annotation up to date, where there is one. Whether that changed it."""
    annotations = new["metadata"].get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return False
    applied = dict(config)
    own = applied["metadata"].get("annotations")
    if own and LAST_APPLIED in own:
        rest = {key: value for key, value in own.items() if key != LAST_APPLIED}
        applied["metadata"] = {**applied["metadata"], "annotations": rest}
        if not rest:
            del applied["metadata"]["annotations"]
    text = f"{codec.encode_sorted(applied).decode()}\n"
    if annotations[LAST_APPLIED] == text:
        return False
    new["metadata"] = {**new["metadata"], "annotations": {**annotations, LAST_APPLIED: text}}
    return True


# Words


def _told(faults: list[str]) -> str:
    if len(faults) == 1:
        return faults[0]
    return "\n".join(["errors:", *(f"  {fault}" for fault in faults)])


def _manager_text(entry: Entry) -> str:
    text = go_quote(entry.get("manager", ""))
    if subresource := entry.get("subresource"):
        text = f"{text} with subresource {go_quote(subresource)}"
    if entry["operation"] == UPDATE:
        text = f"{text} using {entry['apiVersion']}"
    return text


def _conflict(conflicts: list[tuple[Entry, FieldSet]]) -> errors.StatusError:
    ordered = sorted(conflicts, key=lambda found: identity(found[0]))
    told = [
        (_manager_text(entry), path) for entry, fields in ordered for path in fieldset.paths(fields)
    ]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
        for who, path in told
    ]
    if len(told) == 1:
        ((who, path),) = told
        message = f"Apply failed with 1 conflict: conflict with {who}: {path}"
    else:
        lines = "\n".join(_by_manager(told))
        message = f"Apply failed with {len(told)} conflicts: {lines}"
    return errors.StatusError(409, "Conflict", message, details={"causes": causes})


def _by_manager(told: list[tuple[str, str]]) -> Iterator[str]:
    last = None
    for who, path in told:
        if who != last:
            yield f"conflicts with {who}:"
        yield f"- {path}"
        last = who
