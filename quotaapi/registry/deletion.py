"""DELETE, of one object and of a collection."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from apis.meta import codec, errors
from apis.meta.errors import StatusError
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.resource import Resource
from apis.meta.times import format_rfc3339
from apis.meta.transaction import Conflict, Object, Record
from quotaapi.registry import interpret, reading, update
from quotaapi.registry.heavy import Breath, breaths
from quotaapi.registry.metadata import PROPAGATION_FINALIZERS
from quotaapi.registry.options import DeleteOptions, Written
from quotaapi.registry.rest import ListQuery
from quotaapi.registry.values import same
from quotaapi.registry.wiring import ATTEMPTS, Machinery
from storage.interface import Page

PAGE_SIZE = 500
"""How many objects of a collection are held in memory at a time besides what is answered."""

AT_ONCE = Breath(32, 1024 * 1024)
"""What of a collection is deleted side by side: they share transactions. Of large ones few: decoded
they are tens of thousands of values each, and all that are there at once are the garbage collector's."""


async def delete(
    machinery: Machinery,
    user: UserInfo,
    namespace: str,
    name: str,
    options: DeleteOptions,
    *,
    listed_uid: str = "",
) -> Written:
    """As an update: refusals and no-ops are confirmed, a moved object is looked at again.

    `listed_uid`: another object of that name is none of the caller's business: not found.
    """
    resource, key = machinery.resource, machinery.key(namespace, name)
    async with machinery.transactor.claim_object(key):
        for _ in range(ATTEMPTS):
            record = await machinery.newest(key)
            try:
                if record is None:
                    raise errors.not_found(resource, name)
                old = await machinery.object_of(record)
                if listed_uid and old["metadata"]["uid"] != listed_uid:
                    raise errors.not_found(resource, name)
                _check_preconditions(machinery, name, options, record, old)
                attributes = _removal(resource, user, old, options)
                await machinery.validate(attributes)
            except StatusError:
                if await machinery.is_current(key, record):
                    raise
                continue
            try:
                new = await machinery.heavy.step(
                    len(record.body), _lingering, machinery, old, options
                )
                written = await _carry_out(machinery, record, attributes, old, new)
            except Conflict:
                continue
            if written is not None:
                return written.warned(attributes.warnings)
    raise errors.conflict(resource, name)


def _removal(resource: Resource, user: UserInfo, old: Object, options: DeleteOptions) -> Attributes:
    metadata = old["metadata"]
    return Attributes(
        Operation.DELETE,
        resource,
        metadata.get("namespace", ""),
        metadata["name"],
        user,
        None,
        old,
        dry_run=options.dry_run,
    )


async def _carry_out(
    machinery: Machinery, record: Record, attributes: Attributes, old: Object, new: Object | None
) -> Written | None:
    """Remove the object, or store it as terminating (`new`). None: `record` was outdated."""
    key = record.key
    if new is None:
        await machinery.admit(attributes, key, record, None)
        return Written(record.body, record.resource_version, record.header, removed=True)
    if await machinery.heavy.step(len(record.body), same, new, old):
        return Written.of(record) if await machinery.is_current(key, record) else None
    attributes = replace(attributes, operation=Operation.UPDATE, obj=new)
    return update.updated(new, record, await machinery.admit(attributes, key, record, new))


def _check_preconditions(
    machinery: Machinery, name: str, options: DeleteOptions, record: Record, old: Object
) -> None:
    for field, wanted, found in (
        ("uid", options.uid, old["metadata"]["uid"]),
        ("resourceVersion", options.resource_version, str(record.resource_version)),
    ):
        if wanted is not None and wanted != found:
            raise errors.precondition_failed(
                machinery.resource, name, field=field, wanted=wanted, found=found
            )


def _lingering(machinery: Machinery, old: Object, options: DeleteOptions) -> Object | None:
    """The terminating object that finalizers leave, or None where it goes at once."""
    finalizers = finalizers_after(old["metadata"].get("finalizers", ()), options.propagation)
    if not finalizers:
        return None
    new: Object = codec.copy(old)
    new["metadata"]["finalizers"] = finalizers
    mark_terminating(new, machinery.clock())
    return new


def finalizers_after(finalizers: Sequence[str], propagation: str) -> list[str]:
    """A policy replaces the garbage collector's finalizers; without one they stay as they are."""
    wanted = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}.get(propagation)
    if not propagation or (
        wanted in finalizers and len(PROPAGATION_FINALIZERS.intersection(finalizers)) == 1
    ):
        return list(finalizers)
    others = [name for name in finalizers if name not in PROPAGATION_FINALIZERS]
    return [*others, wanted] if wanted else others


def mark_terminating(obj: Object, now: datetime) -> None:
    """An object that is terminating already keeps its time and its generation."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = format_rfc3339(now)
        metadata["generation"] = metadata.get("generation", 0) + 1
    metadata["deletionGracePeriodSeconds"] = 0


async def delete_collection(
    machinery: Machinery,
    user: UserInfo,
    namespace: str,
    query: ListQuery,
    options: DeleteOptions,
) -> Page:
    """Page by page, each object through `delete`. Not atomic: the first error ends it.

    A client's `limit` bounds what is deleted by this request; its answer then continues.
    """
    deleted: list[Record] = []
    page_query = query
    if not query.limit:
        # A limit beside a version alone would mean that very version.
        match = query.match or ("NotOlderThan" if query.resource_version else "")
        page_query = replace(query, limit=PAGE_SIZE, match=match)
    version = 0
    while True:
        page = await reading.list_page(machinery, namespace, page_query)
        version = version or page.resource_version
        for some in breaths(page.records, AT_ONCE):
            deleted += await _delete_all(machinery, user, some, options)
        if query.limit or not page.continue_token:
            return Page(deleted, version, page.continue_token, page.remaining)
        page_query = replace(
            page_query, continue_token=page.continue_token, resource_version=None, match=""
        )


async def _delete_all(
    machinery: Machinery, user: UserInfo, records: Sequence[Record], options: DeleteOptions
) -> list[Record]:
    """What of `records` this request deleted. Every deletion that was begun is awaited."""
    outcomes = await asyncio.gather(
        *(_delete_listed(machinery, user, record, options) for record in records),
        return_exceptions=True,
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [record for record, done in zip(records, outcomes, strict=True) if done]


async def _delete_listed(
    machinery: Machinery, user: UserInfo, record: Record, options: DeleteOptions
) -> bool:
    """Whether the object that was listed was deleted; another of its name is left alone."""
    obj = await machinery.object_of(record)
    metadata = obj["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    try:
        await delete(machinery, user, namespace, name, options, listed_uid=metadata["uid"])
    except StatusError as error:
        if error.reason != "NotFound":
            raise
        return False
    except interpret.LOWER_ERRORS as error:
        raise interpret.write_error(error, machinery.resource, "delete", name) from error
    return True
