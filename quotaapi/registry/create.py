"""The way of a create, down to the gate."""

from collections.abc import Callable

from apis.meta import codec, errors
from apis.meta.codec import Decoded
from apis.meta.errors import StatusError
from apis.meta.managers import Entries
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Committed, Conflict, Object, Record, encode_body
from quotaapi.registry import decoding, metadata, settling
from quotaapi.registry.identity import NAME_ATTEMPTS, generated_name
from quotaapi.registry.options import WriteOptions, Written
from quotaapi.registry.wiring import ATTEMPTS, Machinery


class NameTakenError(Exception):
    """The name exists; `terminating`: its object is being deleted."""

    def __init__(self, *, terminating: bool) -> None:
        super().__init__()
        self.terminating = terminating


async def create(
    machinery: Machinery, user: UserInfo, namespace: str, body: Decoded, options: WriteOptions
) -> Written:
    """The body is used up: it becomes the object that is stored."""
    resource, size = machinery.resource, body.size
    obj = decoding.body_object(resource, body)
    given = decoding.given_entries(obj)
    warnings = await machinery.heavy.step(
        size, decoding.shape_body, resource, body, options.field_validation
    )
    check_namespace(obj, namespace)
    _check_version(obj)

    def owned(settled: Object) -> Entries:
        manager, now = options.field_manager, machinery.now()
        return machinery.ownership.created(settled, manager=manager, now=now, given=given)

    base = "" if obj["metadata"].get("name") else obj["metadata"].get("generateName", "")
    for attempt in range(NAME_ATTEMPTS if base else 1):
        # A generated name that is taken is no answer; the next one starts from the client's body.
        candidate = codec.copy(obj) if base else obj
        if base:
            candidate["metadata"]["name"] = generated_name(base, machinery.random_suffix())
        attributes = prepared(machinery, user, namespace, candidate, options, warnings)
        try:
            return await create_one(machinery, attributes, candidate, owned, size=size)
        except NameTakenError as taken:
            name = candidate["metadata"]["name"]
            refusal = errors.already_exists(resource, name, terminating=taken.terminating)
            if not base:
                raise refusal from None
            if attempt == NAME_ATTEMPTS - 1:
                raise _no_unique_name(refusal) from None
    raise AssertionError("the last attempt returns or raises")


def prepared(
    machinery: Machinery,
    user: UserInfo,
    namespace: str,
    obj: Object,
    options: WriteOptions,
    warnings: list[str],
) -> Attributes:
    """The object with what the server sets, as mutating admission is to see it.

    `warnings`: what decoding found.
    """
    resource = machinery.resource
    if resource.has_status:
        obj.pop("status", None)
    metadata.begin(
        obj["metadata"], namespace=namespace, uid=machinery.new_uid(), now=machinery.clock()
    )
    return Attributes(
        Operation.CREATE,
        resource,
        namespace,
        obj["metadata"].get("name", ""),
        user,
        obj,
        None,
        dry_run=options.dry_run,
        warnings=list(warnings),
    )


async def create_one(
    machinery: Machinery,
    attributes: Attributes,
    obj: Object,
    owned: Callable[[Object], Entries],
    *,
    size: int = 0,
) -> Written:
    """Default, judge and store one candidate, the object of `attributes`. Raises NameTakenError.

    `owned`: the entries of the object the way it is to be stored. `size`: its bytes, where they
    may be many.
    """
    resource = machinery.resource
    await settling.settle(machinery, attributes, obj, size=size)
    if entries := await machinery.heavy.step(size, owned, obj):
        obj["metadata"]["managedFields"] = entries
    key = machinery.key(attributes.namespace, attributes.name)
    async with machinery.transactor.claim_object(key):
        for _ in range(ATTEMPTS):
            existing = await machinery.newest(key)
            if existing is not None:
                if await machinery.is_current(key, existing):
                    raise _taken(existing)
                continue
            await machinery.validate(attributes)
            try:
                committed = await machinery.admit(attributes, key, None, obj)
            except Conflict:
                continue
            return _created(key, obj, committed).warned(attributes.warnings)
    raise errors.server_timeout(resource, "create", 1)


def _created(key: str, obj: Object, committed: Committed | None) -> Written:
    if committed is None:
        return Written.of(Record(key, 0, 0, encode_body(obj)), created=True)
    return Written.of(committed.records[key], created=True)


def check_namespace(obj: Object, namespace: str) -> None:
    """A namespaced object's namespace is the path's; a cluster-scoped one's counts for nothing."""
    given = obj["metadata"].get("namespace")
    if namespace and given and given != namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _check_version(obj: Object) -> None:
    """The words are kube-apiserver's, which answers 500."""
    if obj["metadata"].get("resourceVersion", "0") != "0":
        raise errors.bad_request("resourceVersion should not be set on objects to be created")


def _taken(existing: Record) -> NameTakenError:
    return NameTakenError(terminating="deletionTimestamp" in existing.object()["metadata"])


def _no_unique_name(refusal: StatusError) -> StatusError:
    return StatusError(
        refusal.code,
        refusal.reason,
        f"{refusal.message}, the server was not able to generate a unique name for the object",
        details=refusal.details,
        retry_after_seconds=1,
    )
