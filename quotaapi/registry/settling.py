"""Defaults, the mutating half of the chain, and validation: the same for a new object and an update.

    schema defaults -> types -> mutating admission -> the kind's defaults -> schema defaults
    -> generation -> everything else

Types are looked at first, so that plugins, defaults and rules may rely on them. The second round
of schema defaults and of validation is for what admission changed; most requests it leaves alone
but for an annotation, which two encodings find out in a fifth of the time that the round takes
(measured on a shoot of 1.6 kB: 3 µs against 16 µs).

What comes before mutating admission and what comes after it are pure: see `heavy`.
"""

from apis.meta import codec
from apis.meta.fields import ErrorType, FieldError
from apis.meta.request import Attributes
from apis.meta.resource import Resource
from apis.meta.transaction import Object
from quotaapi.registry import metadata, validation
from quotaapi.registry.wiring import Machinery


async def settle(
    machinery: Machinery,
    attributes: Attributes,
    new: Object,
    old: Object | None = None,
    *,
    size: int = 0,
) -> None:
    """Make of `attributes`' objects what is to be stored, in place; warnings go to `attributes`.
    Raises StatusError.

    `size`: bytes of the objects, where they may be many.
    """
    resource, heavy = machinery.resource, machinery.heavy
    found, before = await heavy.step(size, _typed, resource, new, old)
    await machinery.mutate(attributes)
    attributes.warnings.extend(await heavy.step(size, _judge, attributes, new, old, found, before))


def _typed(resource: Resource, new: Object, old: Object | None) -> tuple[list[FieldError], bytes]:
    resource.schema.default(new)
    return validation.check_types(resource, new, old), _content(new)


def _judge(
    attributes: Attributes, new: Object, old: Object | None, found: list[FieldError], before: bytes
) -> list[str]:
    """The warnings. `found` and `before` are what `_typed` answered."""
    resource = attributes.resource
    resource.defaults(new)
    content = _content(new)
    if content != before:
        resource.schema.default(new)
        found = resource.schema.validate(new)
    found = found + _too_large(resource, len(content), old)
    if old is not None:
        metadata.advance_generation(new, old)
    validation.check(resource, new, old, schema_errors=found, defaulted=attributes.defaulted)
    known = None if old is None else old["metadata"]
    return resource.warnings(new, old) + metadata.finalizer_warnings(new["metadata"], known)


def _too_large(resource: Resource, size: int, old: Object | None) -> list[FieldError]:
    """An object that is too large already may get smaller, and may keep its size."""
    limit = resource.max_content_bytes
    if not limit or size <= limit or (old is not None and size <= len(_content(old))):
        return []
    return [
        FieldError(
            ErrorType.TOO_LONG,
            "spec",
            f"Too long: spec and status have {size} bytes as JSON, and may have at most {limit}",
        )
    ]


def _content(obj: Object) -> bytes:
    return codec.encode({key: value for key, value in obj.items() if key != "metadata"})
