"""PUT and PATCH: one way for both, since a patch is an update of the newest object."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from apis.meta import codec, errors, fields
from apis.meta.codec import Decoded
from apis.meta.errors import StatusError
from apis.meta.gotext import parse_uint
from apis.meta.managedfields import keep_times
from apis.meta.managers import Entries
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.resource import Resource
from apis.meta.structure import ABSENT
from apis.meta.transaction import Committed, Conflict, Object, Record, encode_body
from apis.meta.values import valueclass
from quotaapi.registry import decoding, metadata, settling, status
from quotaapi.registry.options import Transform, WriteOptions, Written
from quotaapi.registry.values import same
from quotaapi.registry.wiring import ATTEMPTS, Machinery


@valueclass
class Wanted:
    """The object that is wanted, in the kind's shape.

    `given`: the client's own entries of managedFields. `entries`: those of an apply, which count
    as they are.
    """

    obj: Object
    warnings: list[str] = field(default_factory=list)
    given: Any = ABSENT
    entries: Entries | None = None


Build = Callable[[Record], Wanted]


@valueclass
class Target:
    """What is to be updated, and by whom. `size`: bytes that the request brings, as `Decoded.size`."""

    user: UserInfo
    namespace: str
    name: str
    options: WriteOptions
    subresource: str = ""
    size: int = 0


async def update(machinery: Machinery, target: Target, body: Decoded) -> Written:
    resource = machinery.resource
    wanted = decoding.body_object(resource, body)
    given = decoding.given_entries(wanted)
    validation = target.options.field_validation
    warnings = await machinery.heavy.step(
        body.size, decoding.shape_body, resource, body, validation
    )
    check_identity(wanted, target)
    uid = wanted["metadata"].get("uid")

    def build(record: Record) -> Wanted:
        if uid is not None:
            _check_uid(resource, record, uid)
        return Wanted(codec.copy(wanted), warnings, given)

    return await _revise_existing(machinery, target, build)


async def patch(machinery: Machinery, target: Target, transform: Transform) -> Written:
    resource = machinery.resource

    def build(record: Record) -> Wanted:
        patched = transform(record.object())
        refusal = decoding.patch_refusal(patched)
        wanted = decoding.patched_object(patched, refusal)
        given = decoding.given_entries(wanted)
        warnings = decoding.shape(
            resource,
            wanted,
            duplicates=(),
            field_validation=target.options.field_validation,
            refusal=refusal,
            base=record,
        )
        check_identity(wanted, target)
        return Wanted(wanted, warnings, given)

    return await _revise_existing(machinery, target, build)


async def _revise_existing(machinery: Machinery, target: Target, build: Build) -> Written:
    written = await revise(machinery, target, build)
    if written is None:
        raise errors.not_found(machinery.resource, target.name)
    return written


async def revise(machinery: Machinery, target: Target, build: Build) -> Written | None:
    """Evaluate and store under the object's claim, again on the fresh object where it moved.

    None where there is no such object.

    1. The newest object that this process knows is the base; it may be outdated.
    2. So a refusal that rests on it is confirmed before it is answered, and so is a no-op: on an
       outdated base either may be wrong. What is stored is guarded by the gate itself.
    3. Only a version below the newest known is refused at once: versions never go back.

    `build` must be pure, as what `heavy` runs.
    """
    resource, heavy = machinery.resource, machinery.heavy
    key = machinery.key(target.namespace, target.name)
    async with machinery.transactor.claim_object(key):
        for _ in range(ATTEMPTS):
            record = await machinery.newest(key)
            if record is None:
                if await machinery.is_current(key, None):
                    return None
                continue
            size = target.size + len(record.body)
            try:
                wanted = await heavy.step(size, build, record)
                attributes = await _evaluate(machinery, target, record, wanted, size)
            except _OutdatedError:
                raise errors.conflict(resource, target.name) from None
            except StatusError:
                if await machinery.is_current(key, record):
                    raise
                continue
            try:
                written = await _store(machinery, key, record, attributes, size)
            except Conflict:
                continue
            if written is not None:
                return written.warned(attributes.warnings)
    raise errors.conflict(resource, target.name)


class _OutdatedError(Exception):
    """The client's version is certainly not the current one."""


async def _evaluate(
    machinery: Machinery, target: Target, record: Record, wanted: Wanted, size: int
) -> Attributes:
    """The object as it is to be stored, judged by everything but the accounts."""
    old = await machinery.object_of(record)
    attributes, new = _attributes(machinery.resource, target, record, old, wanted)
    await settling.settle(machinery, attributes, new, old, size=size)
    await machinery.heavy.step(size, _own, machinery, target, new, old, wanted)
    await machinery.validate(attributes)
    return attributes


def _attributes(
    resource: Resource, target: Target, record: Record, old: Object, wanted: Wanted
) -> tuple[Attributes, Object]:
    """What admission sees, and the new object in it. `old` is that of `record`."""
    new = wanted.obj
    _check_version(resource, new, target.name, record)
    if target.subresource == status.STATUS:
        new = status.with_status(old, new)
    else:
        status.keep_status(resource, new, old)
        metadata.carry_over(new["metadata"], old["metadata"])
    status.keep_server_status(resource, new, old)
    attributes = Attributes(
        Operation.UPDATE,
        resource,
        target.namespace,
        target.name,
        target.user,
        new,
        old,
        subresource=target.subresource,
        dry_run=target.options.dry_run,
        warnings=list(wanted.warnings),
    )
    return attributes, new


def _own(machinery: Machinery, target: Target, new: Object, old: Object, wanted: Wanted) -> None:
    """Say in managedFields who owns what, now that the object is as it will be stored."""
    entries = wanted.entries
    if entries is None:
        entries = machinery.ownership.updated(
            new,
            old,
            manager=target.options.field_manager,
            now=machinery.now(),
            subresource=target.subresource,
            given=wanted.given,
        )
    if entries:
        new["metadata"]["managedFields"] = entries
    else:
        new["metadata"].pop("managedFields", None)
    keep_times(new, old)


async def _store(
    machinery: Machinery, key: str, record: Record, attributes: Attributes, size: int
) -> Written | None:
    """What was written; None where `record` turned out to be outdated. Raises Conflict."""
    new, old = attributes.obj, attributes.old
    if new is None or old is None:
        raise TypeError("an update has both objects")
    if _is_finished(new, old):
        removal = replace(attributes, operation=Operation.DELETE, obj=None)
        await machinery.admit(removal, key, record, None)
        return removed(new, record)
    if await machinery.heavy.step(size, same, new, old):
        return Written.of(record) if await machinery.is_current(key, record) else None
    committed = await machinery.admit(attributes, key, record, new)
    return updated(new, record, committed)


def updated(new: Object, record: Record, committed: Committed | None) -> Written:
    """A dry run shows the object with the version that it would have replaced."""
    if committed is None:
        return Written(encode_body(new), record.resource_version, record.header)
    return Written.of(committed.records[record.key])


def removed(last: Object, record: Record) -> Written:
    """The answer shows the object as it was last, with the version of its last write: that of the
    removal is the watchers' matter."""
    return Written(encode_body(last), record.resource_version, record.header, removed=True)


def _is_finished(new: Object, old: Object) -> bool:
    """Whether this write takes the last finalizer from an object that is being deleted."""
    before = old["metadata"]
    return (
        "deletionTimestamp" in before
        and not before.get("deletionGracePeriodSeconds")
        and not new["metadata"].get("finalizers")
    )


def check_identity(wanted: Object, target: Target) -> None:
    """Name and namespace are the path's; an absent namespace is filled in later."""
    found = wanted["metadata"]
    name = found.get("name")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != target.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    namespace = found.get("namespace")
    if target.namespace and namespace and namespace != target.namespace:
        raise errors.bad_request(
            f"the namespace of the object ({namespace}) does not match the namespace on the "
            f"request ({target.namespace})"
        )


def _check_uid(resource: Resource, record: Record, uid: str) -> None:
    stored = record.object()["metadata"]["uid"]
    if uid != stored:
        raise errors.conflict(
            resource,
            record.key.rpartition("/")[2],
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}",
        )


def _invalid_version(resource: Resource, name: str, value: object, why: str) -> StatusError:
    error = fields.invalid("metadata.resourceVersion", value, why)
    return errors.invalid(resource.plural, resource.group, name, [error])


def _check_version(resource: Resource, wanted: Object, name: str, record: Record) -> None:
    """Raises _OutdatedError where a conflict is certain, a StatusError where it is to be confirmed."""
    text = wanted["metadata"].get("resourceVersion", "0")
    try:
        version = parse_uint(text)
    except ValueError as fault:
        raise _invalid_version(resource, name, text, str(fault)) from None
    if version == 0:
        raise _invalid_version(resource, name, 0, "must be specified for an update")
    if version < record.resource_version:
        raise _OutdatedError
    if version > record.resource_version:
        raise errors.conflict(resource, name)
