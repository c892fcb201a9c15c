"""What the server does with an object between decoding and admission."""

from copy import deepcopy

from apis.garden.v1beta1.register import BY_KIND
from apis.meta.transaction import Object


def settle(obj: Object) -> Object:
    """A copy of `obj`, pruned and with its kind's defaults; nothing may be dropped."""
    resource, settled = BY_KIND[obj["kind"]], deepcopy(obj)
    assert resource.schema.prune(settled) == []
    resource.schema.default(settled)
    resource.defaults(settled)
    return settled


def faults(obj: Object, old: Object | None = None) -> list[str]:
    """Every fault of a settled object, or of an update of the settled `old` to it."""
    resource, new = BY_KIND[obj["kind"]], settle(obj)
    before = None if old is None else settle(old)
    found = resource.schema.validate(new)
    if before is not None:
        found += resource.schema.validate_update(new, before)
    return [str(error) for error in found + resource.rules(new, before)]
