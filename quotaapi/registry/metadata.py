"""`metadata`: its canonical form, and what of it is the server's.

What a name or label may look like is `apis.meta.names`' matter; this module knows which fields
there are, of what types, and who sets them.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from apis.meta import codec, fields
from apis.meta.fields import FieldError
from apis.meta.structure import MAX_FAULTS
from apis.meta.times import format_rfc3339, parse_rfc3339
from apis.meta.transaction import Object
from quotaapi.registry.values import same

Metadata = dict[str, Any]

PROPAGATION_FINALIZERS = frozenset({"foregroundDeletion", "orphan"})
_STANDARD_FINALIZERS = PROPAGATION_FINALIZERS | {"kubernetes"}

_SYSTEM = (
    "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "managedFields",
)  # fmt: skip
"""What no client sets on a new object."""

_IMMUTABLE = "field is immutable"


class MalformedError(ValueError):
    """A metadata field of a wrong JSON type, in encoding/json's words."""


def canonicalise(obj: Object) -> list[str]:
    """Make `obj["metadata"]` a fresh dict of known, rightly typed, non-empty fields.

    Answers the paths of unknown fields. Raises MalformedError. An empty map, list or text is the
    same as none, as it is for a client that decodes into ObjectMeta.
    """
    given = obj.get("metadata")
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise MalformedError(mistyped(given, "metadata", "v1.ObjectMeta"))
    canonical: Metadata = {}
    unknown: list[str] = []
    for key, value in given.items():
        read = _READERS.get(key)
        if read is None:
            if len(unknown) < MAX_FAULTS:
                unknown.append(f"metadata.{key}")
        elif value is not None:
            value = read(key, value)
            if value or key == "deletionGracePeriodSeconds":
                canonical[key] = value
    if "ownerReferences" in canonical:
        unknown += _prune_owners(canonical["ownerReferences"])
    obj["metadata"] = canonical
    return unknown


def begin(metadata: Metadata, *, namespace: str, uid: str, now: datetime) -> None:
    """What the server sets on a new object, whatever the client said."""
    for key in _SYSTEM:
        metadata.pop(key, None)
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = format_rfc3339(now)
    metadata["generation"] = 1


def carry_over(new: Metadata, old: Metadata) -> None:
    """What the server keeps on an update, whatever the client said or left out.

    A uid, deletionTimestamp or grace period that the client *changed* stays, for
    `update_errors` to refuse.
    """
    for key in ("name", "namespace", "creationTimestamp", "generation", "resourceVersion"):
        _keep(new, old, key)
    if "uid" not in new:
        _keep(new, old, "uid")
    if "deletionTimestamp" in old:
        new["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" not in new:
        _keep(new, old, "deletionGracePeriodSeconds")
    # Until `managedfields` says what becomes of them; what the client sent reaches it by itself.
    _keep(new, old, "managedFields")


def update_errors(new: Metadata, old: Metadata) -> list[FieldError]:
    """What an update may not do to metadata; the name has been checked against the path."""
    found = []
    if "deletionTimestamp" in old:
        stored = frozenset(old.get("finalizers", ()))
        added = [name for name in new.get("finalizers", ()) if name not in stored]
        if added:
            listed = ", ".join(fields.go_quote(name) for name in added)
            error = fields.forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}",
            )
            # kube-apiserver reports it twice for a custom resource, whose metadata is validated
            # by the generic update and by the kind's own strategy.
            found += [error, error]
    for key in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(key) != old.get(key):
            found.append(fields.invalid(f"metadata.{key}", new.get(key), _IMMUTABLE))
    return found


def advance_generation(new: Object, old: Object) -> None:
    """One more where anything outside metadata and status changed."""
    if not same(_desired(new), _desired(old)):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def finalizer_warnings(new: Metadata, old: Metadata | None = None) -> list[str]:
    """The first MAX_FAULTS."""
    known = set(old.get("finalizers", ())) if old else set()
    warnings = (
        f"metadata.finalizers: {fields.go_quote(name)}: prefer a domain-qualified finalizer name "
        "to avoid accidental conflicts with other finalizer writers"
        for name in new.get("finalizers", ())
        if "/" not in name and name not in known and name not in _STANDARD_FINALIZERS
    )
    return list(islice(warnings, MAX_FAULTS))


def mistyped(value: object, field: str, wanted: str) -> str:
    return f"json: cannot unmarshal {codec.json_type(value)} into Go struct field {field} of type {wanted}"


def _keep(new: Metadata, old: Metadata, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def _desired(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def _malformed(value: object, key: str, wanted: str) -> MalformedError:
    return MalformedError(mistyped(value, f"ObjectMeta.{key}", wanted))


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _malformed(value, key, "string")
    return value


def _integer(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _malformed(value, key, "int64")
    return value


def _time(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _malformed(value, key, "Time")
    if value:
        try:
            parse_rfc3339(value)
        except ValueError as error:
            raise MalformedError(str(error)) from None
    return value


def _texts_by_key(key: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _malformed(value, key, "map[string]string")
    for item in value.values():
        if not isinstance(item, str):
            break
    else:
        return value
    # null for a text is the empty text, as encoding/json has it.
    return {name: "" if item is None else _text(key, item) for name, item in value.items()}


def _texts(key: str, value: object) -> list[str]:
    if not isinstance(value, list):
        raise _malformed(value, key, "[]string")
    return ["" if item is None else _text(key, item) for item in value]


_OWNER_FIELDS: Mapping[str, tuple[type, str]] = {
    "apiVersion": (str, "string"),
    "kind": (str, "string"),
    "name": (str, "string"),
    "uid": (str, "string"),
    "controller": (bool, "bool"),
    "blockOwnerDeletion": (bool, "bool"),
}


def _owners(key: str, value: object) -> list[Metadata]:
    if not isinstance(value, list):
        raise _malformed(value, key, "[]v1.OwnerReference")
    owners = []
    for item in value:
        if not isinstance(item, dict):
            raise _malformed(item, key, "v1.OwnerReference")
        for name, (wanted, shown) in _OWNER_FIELDS.items():
            field = item.get(name)
            if field is not None and not isinstance(field, wanted):
                raise _malformed(field, f"{key}.{name}", shown)
        owners.append({name: field for name, field in item.items() if field is not None})
    return owners


def _prune_owners(owners: list[Metadata]) -> list[str]:
    unknown = []
    for at, owner in enumerate(owners):
        for name in owner.keys() - _OWNER_FIELDS.keys():
            del owner[name]
            unknown.append(f"metadata.ownerReferences[{at}].{name}")
    return unknown


def _dropped(_key: str, _value: object) -> None:
    return None


_READERS: Mapping[str, Callable[[str, object], Any]] = {
    "name": _text,
    "generateName": _text,
    "namespace": _text,
    "selfLink": _dropped,
    "uid": _text,
    "resourceVersion": _text,
    "generation": _integer,
    "creationTimestamp": _time,
    "deletionTimestamp": _time,
    "deletionGracePeriodSeconds": _integer,
    "labels": _texts_by_key,
    "annotations": _texts_by_key,
    "ownerReferences": _owners,
    "finalizers": _texts,
    "managedFields": _dropped,
}
