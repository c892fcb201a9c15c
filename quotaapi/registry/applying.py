"""Server-side apply: an update of the object where it exists, else a create.

Which of the two it is may change while it is evaluated; then it is evaluated again as the other.
"""

from apis.meta import codec, errors
from apis.meta.apply import Applied, Apply
from apis.meta.codec import Decoded
from apis.meta.managers import Entries
from apis.meta.resource import Resource
from apis.meta.transaction import Object, Record
from quotaapi.registry import create, decoding, update
from quotaapi.registry.options import Written
from quotaapi.registry.update import Target, Wanted
from quotaapi.registry.wiring import ATTEMPTS, Machinery


async def apply(machinery: Machinery, target: Target, config: Decoded) -> Written:
    warnings: list[str] = []

    def build(record: Record) -> Wanted:
        applied = _applied(machinery, target, record.object(), config)
        warnings[:] = _told(machinery.resource, config, target)
        wanted: Object = codec.copy(applied.obj)
        _shape(machinery.resource, wanted)
        update.check_identity(wanted, target)
        return Wanted(wanted, warnings, entries=applied.entries)

    for _ in range(ATTEMPTS):
        written = await update.revise(machinery, target, build)
        if written is None:
            if target.subresource:
                raise errors.not_found(machinery.resource, target.name)
            written = await _create(machinery, target, config)
        if written is not None:
            return written
    raise errors.conflict(machinery.resource, target.name)


async def _create(machinery: Machinery, target: Target, config: Decoded) -> Written | None:
    """None where the object has come into being meanwhile."""
    size = config.size
    obj, entries, warnings = await machinery.heavy.step(size, _new, machinery, target, config)
    attributes = create.prepared(
        machinery, target.user, target.namespace, obj, target.options, warnings
    )
    try:
        return await create.create_one(machinery, attributes, obj, lambda _: entries, size=size)
    except create.NameTakenError:
        return None


def _new(
    machinery: Machinery, target: Target, config: Decoded
) -> tuple[Object, Entries, list[str]]:
    """The object that the apply makes where there is none, its entries, and the warnings."""
    applied = _applied(machinery, target, None, config)
    warnings = _told(machinery.resource, config, target)
    obj: Object = codec.copy(applied.obj)
    _refuse_uid(machinery.resource, target, obj)
    obj["metadata"].pop("resourceVersion", None)
    _shape(machinery.resource, obj)
    create.check_namespace(obj, target.namespace)
    update.check_identity(obj, target)
    return obj, applied.entries, warnings


def _applied(machinery: Machinery, target: Target, live: Object | None, config: Decoded) -> Applied:
    options = target.options
    how = Apply(
        manager=options.field_manager,
        now=machinery.now(),
        force=options.force,
        subresource=target.subresource,
    )
    return machinery.applier.apply(live, config.value, how)


def _told(resource: Resource, config: Decoded, target: Target) -> list[str]:
    """What is to be said of the configuration's fields. Raises 400 where they are to be refused."""
    validation = target.options.field_validation
    if validation == "Ignore":
        return []
    missed = decoding.near_misses(resource, config.value)
    if missed and validation == "Strict":
        why = f"strict decoding error: {', '.join(missed)}"
        raise decoding.body_refusal(resource)(why)
    return _repeated(config, validation) + missed


def _repeated(config: Decoded, validation: str) -> list[str]:
    if not config.duplicates:
        return []
    lines = "".join(f'\n  key "{path}" already set in map' for path in config.duplicates)
    why = f"error converting YAML to JSON: yaml: unmarshal errors:{lines}"
    if validation == "Strict":
        raise errors.bad_request(f"error strict decoding YAML: {why}")
    return [why]


def _shape(resource: Resource, obj: Object) -> None:
    """Unknown fields have been refused already: what is left is metadata in canonical form."""
    refusal = decoding.patch_refusal(obj)
    decoding.shape(resource, obj, duplicates=(), field_validation="Ignore", refusal=refusal)


def _refuse_uid(resource: Resource, target: Target, obj: Object) -> None:
    """Who names a uid means an object that exists."""
    if uid := obj["metadata"].get("uid"):
        raise errors.conflict(
            resource,
            target.name,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was found",
        )
