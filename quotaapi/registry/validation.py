"""422s: everything that is wrong with an object, at once."""

from collections.abc import Mapping, Sequence

from apis.meta import errors, fields, names
from apis.meta.fields import ErrorType, FieldError
from apis.meta.resource import Resource
from apis.meta.transaction import Object
from quotaapi.registry import metadata

_BEYOND_MENDING = frozenset({ErrorType.TYPE_INVALID, ErrorType.TOO_MANY})


def check_types(resource: Resource, new: Object, old: Object | None) -> list[FieldError]:
    """Refuse an object whose fields have wrong types; answer what else the schema has against it.

    Missing fields and bad values are no refusal yet: admission may mend them. It takes nothing
    out of a list that is too long, and need not look at it.
    """
    found = resource.schema.validate(new)
    if any(error.type in _BEYOND_MENDING for error in found):
        _refuse(resource, new, _claims(resource, new, old) + found)
    return found


def check(
    resource: Resource,
    new: Object,
    old: Object | None,
    *,
    schema_errors: list[FieldError],
    defaulted: Mapping[str, str],
) -> None:
    """Refuse an object (`old` None) or an update that is invalid in any way.

    `defaulted`: as `Attributes` has it.
    """
    found = _claims(resource, new, old) + schema_errors
    if not any(error.type is ErrorType.TYPE_INVALID for error in schema_errors):
        if old is not None:
            found += resource.schema.validate_update(new, old)
        found += resource.rules(new, old)
    if found:
        _refuse(resource, new, fields.blame_defaults(found, defaulted))


def _claims(resource: Resource, new: Object, old: Object | None) -> list[FieldError]:
    """What is wrong with an object's kind, version and metadata."""
    found = []
    if new["kind"] != resource.kind:
        found.append(fields.invalid("kind", new["kind"], f"must be {resource.kind}"))
    if new.get("apiVersion") != resource.api_version:
        version = new.get("apiVersion", "")
        found.append(fields.invalid("apiVersion", version, f"must be {resource.api_version}"))
    found += names.validate_metadata(new["metadata"], namespaced=resource.namespaced)
    if old is not None:
        found += metadata.update_errors(new["metadata"], old["metadata"])
    return found


def _refuse(resource: Resource, obj: Object, found: Sequence[FieldError]) -> None:
    raise errors.invalid(obj["kind"], resource.group, obj["metadata"].get("name", ""), found)
