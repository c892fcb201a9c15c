"""From a decoded document to an object of the kind: what is malformed, unknown, or said twice.

A body that is malformed is a 400, an object that a patch made malformed a 422 of the patch:
the functions here are given the refusal to raise.
"""

from collections.abc import Callable, Collection
from typing import Any

from apis.meta import codec, errors, fields
from apis.meta.codec import Decoded
from apis.meta.errors import StatusError
from apis.meta.resource import Resource
from apis.meta.structure import ABSENT
from apis.meta.transaction import Object, Record
from quotaapi.registry import metadata

Refusal = Callable[[str], StatusError]
"""From what is wrong to what the client is told."""

_SHOWN = 30
"""How many characters of a body that is no object are shown back."""


def body_object(resource: Resource, body: Decoded) -> Object:
    """The body, where it claims to be an object of the resource's version.

    Another *kind* is left to validation, which answers as for any wrong field.
    """
    value = body.value
    if not isinstance(value, dict):
        raise errors.unrecognized(resource.kind, f"{_not_an_object(value)} ({_shown(value)})")
    if not value.get("kind"):
        why = f"Object 'Kind' is missing in '{_shown(value)}'"
        raise errors.unrecognized(resource.kind, f"{why} ({_shown(value)})")
    for key in ("kind", "apiVersion"):
        if not isinstance(value.get(key, ""), str):
            why = f"couldn't get version/kind; json parse error: {metadata.mistyped(value[key], key, 'string')}"
            raise errors.unrecognized(resource.kind, why)
    version = value.get("apiVersion", "")
    if version != resource.api_version:
        raise errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    return value


def body_refusal(resource: Resource) -> Refusal:
    kind = resource.kind
    return lambda why: errors.bad_request(
        f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}'
    )


def patch_refusal(patched: object) -> Refusal:
    """Shows the object as the patch made it: call this before its shape is brought in order."""
    shown = codec.encode(patched)
    return lambda why: errors.invalid("", "", "", [fields.invalid("patch", _ordered(shown), why)])


def _ordered(shown: bytes) -> str:
    return codec.encode_sorted(codec.decode_json(shown).value).decode()


def patched_object(patched: object, refusal: Refusal) -> Object:
    """What a patch made, where it is an object with a kind at all."""
    if not isinstance(patched, dict):
        raise refusal(_not_an_object(patched))
    for key in ("kind", "apiVersion"):
        if not isinstance(patched.get(key, ""), str):
            raise refusal(metadata.mistyped(patched[key], key, "string"))
    if not patched.get("kind"):
        raise refusal("Object 'Kind' is missing")
    return patched


def given_entries(obj: Object) -> Any:
    """`managedFields` as the client sent them, for `apis.meta.managedfields`; `shape` drops them."""
    given = obj.get("metadata")
    return given.get("managedFields", ABSENT) if isinstance(given, dict) else ABSENT


def shape(
    resource: Resource,
    obj: Object,
    *,
    duplicates: Collection[str],
    field_validation: str,
    refusal: Refusal,
    base: Record | None = None,
) -> list[str]:
    """Bring `obj` into the kind's shape in place: metadata in canonical form, unknown fields gone.

    Answers the warnings; raises the refusal for malformed metadata, and for unknown or duplicate
    fields where those are to be refused. Near misses of counted fields are told as unknown fields
    are, and kept; not those that a patch found in what it was applied to (`base`).
    """
    try:
        unknown = metadata.canonicalise(obj)
    except metadata.MalformedError as error:
        raise refusal(str(error)) from None
    unknown += resource.schema.prune(obj)
    if field_validation == "Ignore":
        return []
    missed = near_misses(resource, obj, base)
    if not (unknown or duplicates or missed):
        return []
    faults = [f'duplicate field "{path}"' for path in duplicates]
    faults += [f'unknown field "{path}"' for path in sorted(unknown)]
    faults += missed
    if field_validation == "Strict":
        raise refusal(f"strict decoding error: {', '.join(faults)}")
    return faults


def near_misses(resource: Resource, obj: Object, base: Record | None = None) -> list[str]:
    """As `shape` tells them."""
    found = resource.schema.near_misses(obj)
    if found and base is not None:
        known = {miss.identity() for miss in resource.schema.near_misses(base.object())}
        found = [miss for miss in found if miss.identity() not in known]
    return [miss.told() for miss in found]


def shape_body(resource: Resource, body: Decoded, field_validation: str) -> list[str]:
    """`shape` for an object that came as the whole body; `body_object` has seen it."""
    return shape(
        resource,
        body.value,
        duplicates=body.duplicates,
        field_validation=field_validation,
        refusal=body_refusal(resource),
    )


def _not_an_object(value: object) -> str:
    if value is None:
        return "Object 'Kind' is missing in 'null'"
    found = codec.json_type(value)
    return (
        "couldn't get version/kind; json parse error: "
        f"json: cannot unmarshal {found} into Go value of type object"
    )


def _shown(value: object) -> str:
    text = codec.encode(value).decode()
    if not text.startswith("{"):
        return text[:_SHOWN].encode().hex()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
