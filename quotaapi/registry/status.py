"""Whose part of an object the status is: a write of the one leaves the other as it is stored."""

from apis.meta import codec
from apis.meta.resource import Resource
from apis.meta.transaction import Object

STATUS = "status"


def with_status(old: Object, wanted: Object) -> Object:
    """What a write of the status subresource leaves: all but the status as it is stored."""
    new: Object = codec.copy({key: value for key, value in old.items() if key != STATUS})
    if wanted.get(STATUS) is not None:
        new[STATUS] = wanted[STATUS]
    return new


def keep_status(resource: Resource, new: Object, old: Object) -> None:
    if not resource.has_status:
        return
    if STATUS in old:
        new[STATUS] = codec.copy(old[STATUS])
    else:
        new.pop(STATUS, None)


def keep_server_status(resource: Resource, new: Object, old: Object) -> None:
    """The keys of `status` that are the server's own stay as they are stored."""
    if not resource.server_status:
        return
    stored = old.get(STATUS) or {}
    status = new.get(STATUS)
    if status is None:
        status = {}
    if not isinstance(status, dict):
        return  # a wrong type, which validation refuses
    kept = {key: value for key, value in status.items() if key not in resource.server_status}
    kept.update((key, stored[key]) for key in resource.server_status if key in stored)
    if kept or STATUS in new:
        new[STATUS] = kept
