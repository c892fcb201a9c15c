"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902), as bodies of a PATCH.

A body is decoded and looked at once, and may be applied to several objects: an update that
conflicts is made again from the newest object. What it makes shares nothing with the object it
was applied to, nor with the patch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from apis.meta import codec, errors, jsonpatch
from apis.meta.transaction import Object

MAX_OPERATIONS: Final = 10_000
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
    """Raises StatusError: 400 for what is no list of operations, 413 for too many of them.

    An operation that means nothing is found when the patch is applied (422), as is one that
    does not fit the object.
    """
    decoded = _decode(data)
    operations = decoded.value
    if not isinstance(operations, list):
        raise _mistyped(operations, "[]handlers.jsonPatchOp")
    for operation in operations:
        _check_operation(operation)
    if len(operations) > MAX_OPERATIONS:
        raise errors.entity_too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, "
            f"got {len(operations)}"
        )
    size = decoded.size + _OPERATION_BYTES * len(operations)
    if any(operation.get("op") == "copy" for operation in operations):
        size += jsonpatch.MAX_COPIED_BYTES
    return Patch(lambda old: _apply_operations(old, data), decoded.duplicates, size)


def _check_operation(operation: Any) -> None:
    if not isinstance(operation, dict):
        raise _mistyped(operation, "handlers.jsonPatchOp")
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            raise errors.bad_request(
                f"error decoding patch: json: cannot unmarshal {codec.json_type(value)} "
                f"into Go struct field jsonPatchOp.{name} of type string"
            )


def _apply_operations(old: Object, data: bytes) -> Any:
    # Both are fresh: operations are applied in place, and a value that one of them adds becomes
    # part of what the next one changes.
    try:
        patched = jsonpatch.apply(_detach(old), codec.decode_json(data).value)
    except jsonpatch.OperationError as error:
        raise errors.unprocessable(str(error)) from None
    return _detach(patched)


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
    except codec.DecodeError as error:
        raise errors.unprocessable(f"the patched object cannot be stored: {error}") from None
