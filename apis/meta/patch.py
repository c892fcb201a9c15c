"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902). The one door to jsonpatch.

A body is decoded and looked at once, and may be applied to several objects: an update that
conflicts is made again from the newest object. What it makes shares nothing with the object it
was applied to, nor with the patch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonpatch
import jsonpointer

from apis.meta import codec, errors
from apis.meta.transaction import Object

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
"""What all `copy` operations of one patch may add: each of them can double the object."""

_OPERATION_BYTES: Final = 64
"""An operation takes as long as so many bytes of an object do on their way to storage."""


@dataclass(frozen=True, slots=True)
class Patch:
    """`apply(old)` answers the new object and leaves `old` alone; raises StatusError.

    What it answers is whatever the patch makes of the object: an object still, in general.
    """

    apply: Callable[[Object], Any]
    duplicates: tuple[str, ...] = ()
    """Fields that the patch itself says twice."""
    size: int = 0
    """How much work `apply` is: bytes of JSON that are the patch, or are as much work."""


def parse_merge_patch(data: bytes) -> Patch:
    """Raises StatusError (400) for what is no JSON object."""
    decoded = _decode(data)
    if not isinstance(decoded.value, dict):
        raise _mistyped(decoded.value, "map[string]interface {}")
    changes = decoded.value
    return Patch(lambda old: _detach(merge(old, changes)), decoded.duplicates, decoded.size)


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386. Neither argument is changed; the result shares with both what it took over."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def parse_json_patch(data: bytes) -> Patch:
    """Raises StatusError: 400 for what is no list of objects, 413 for too many of them.

    An operation that means nothing is found when the patch is applied (422), as is one that
    does not fit the object.
    """
    decoded = _decode(data)
    operations = decoded.value
    if not isinstance(operations, list):
        raise _mistyped(operations, "[]handlers.jsonPatchOp")
    for operation in operations:
        if not isinstance(operation, dict):
            raise _mistyped(operation, "handlers.jsonPatchOp")
    if len(operations) > MAX_OPERATIONS:
        raise errors.entity_too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, "
            f"got {len(operations)}"
        )
    size = decoded.size + _OPERATION_BYTES * len(operations)
    if any(operation.get("op") == "copy" for operation in operations):
        size += MAX_COPIED_BYTES
    return Patch(lambda old: _apply_operations(old, data), decoded.duplicates, size)


def _apply_operations(old: Object, data: bytes) -> Any:
    # Both are fresh: operations are applied in place, and a value that one of them adds becomes
    # part of what the next one changes.
    document: Any = _detach(old)
    copied = 0
    for operation in codec.decode_json(data).value:
        try:
            if operation.get("op") == "copy":
                copied += len(codec.encode(_look_up(document, operation.get("from"))))
                if copied > MAX_COPIED_BYTES:
                    raise errors.unprocessable()
            if operation.get("op") == "test":
                _test(document, operation)
            else:
                document = jsonpatch.JsonPatch([operation]).apply(document, in_place=True)
        # TypeError and the like: jsonpatch does not check everything that a path may run into.
        except (
            jsonpatch.JsonPatchException,
            jsonpointer.JsonPointerException,
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
            RecursionError,
        ) as e:
            raise errors.unprocessable() from e
    return _detach(document)


def _look_up(document: Any, path: Any) -> Any:
    return jsonpointer.JsonPointer(path).resolve(document)


def _test(document: Any, operation: Mapping[str, Any]) -> None:
    """Compared as JSON: jsonpatch takes Python's word for it, to which `true` equals 1.

    Python's comes first all the same: it ends at the first difference, and thousands of tests
    of a large object take no longer than of a small one.
    """
    found, wanted = _look_up(document, operation["path"]), operation["value"]
    if found != wanted or codec.encode_sorted(found) != codec.encode_sorted(wanted):
        raise errors.unprocessable()


def _decode(data: bytes) -> codec.Decoded:
    try:
        return codec.decode_json(data)
    except codec.DecodeError as e:
        raise errors.bad_request(f"error decoding patch: {e}") from e


def _mistyped(value: Any, wanted: str) -> errors.StatusError:
    return errors.bad_request(
        "error decoding patch: json: "
        f"cannot unmarshal {codec.json_type(value)} into Go value of type {wanted}"
    )


def _detach(value: Any) -> Any:
    """A deep copy. Patched objects may nest deeper than either part did: 422 then."""
    try:
        return codec.copy(value)
    except codec.DecodeError as e:
        raise errors.unprocessable() from e
