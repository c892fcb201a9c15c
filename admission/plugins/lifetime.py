"""Gives a shoot the time at which it expires, and keeps users from outliving their quotas."""

from collections.abc import Callable, Mapping
from datetime import datetime

from admission.metering.cache import Parsed
from admission.metering.lifetimes import Verdict, lifetime_days, on_create, on_update
from admission.plugins.lookups import SHOOTS, BindingQuotas
from apis.garden.v1beta1.shoot import EXPIRATION, binding_of
from apis.meta import errors
from apis.meta.request import Attributes, Operation
from apis.meta.times import parse_rfc3339
from apis.meta.transaction import Object


class Lifetime:
    """The rules are in `admission.metering.lifetimes`."""

    def __init__(self, quotas: BindingQuotas, clock: Callable[[], datetime]) -> None:
        self._quotas = quotas
        self._clock = clock
        self._days: Parsed[int | None] = Parsed(lambda quota: lifetime_days((quota,)))

    async def admit(self, attributes: Attributes) -> None:
        obj = attributes.obj
        if obj is None or attributes.resource.plural != SHOOTS or attributes.subresource:
            return
        annotations = obj["metadata"].get("annotations") or {}
        if attributes.operation is Operation.CREATE:
            days = await self._lifetime(obj, attributes.namespace)
            verdict = on_create(annotations, created=self._created(obj), days=days)
        else:
            old = attributes.old or {}
            before = old["metadata"].get("annotations") or {}
            if "deletionTimestamp" in old["metadata"]:
                return
            if annotations.get(EXPIRATION) == before.get(EXPIRATION):
                return
            # The binding is immutable, so the stored shoot names the one that counts.
            days = await self._lifetime(old, attributes.namespace)
            verdict = on_update(annotations, before, now=self._clock(), days=days)
        if verdict.errors:
            kind, group = attributes.resource.kind, attributes.resource.group
            raise errors.invalid(kind, group, attributes.name, verdict.errors)
        _annotate(obj, annotations, verdict)

    async def _lifetime(self, shoot: Object, namespace: str) -> int | None:
        """The shortest lifetime; a shoot that names no binding yet is left to validation."""
        kind, name = binding_of(shoot)
        if not name:
            return None
        records = await self._quotas.quotas_of(namespace, kind, name)
        days = [self._days.of_record(record) for record in records]
        return min((n for n in days if n is not None), default=None)

    def _created(self, obj: Object) -> datetime:
        """As the registry has stamped the new object."""
        stamped = obj["metadata"].get("creationTimestamp")
        return parse_rfc3339(stamped) if stamped else self._clock()


def _annotate(obj: Object, annotations: Mapping[str, str], verdict: Verdict) -> None:
    if verdict.value is not None and annotations.get(EXPIRATION) != verdict.value:
        # Not changed in place: an update may share its annotations with the old object.
        obj["metadata"]["annotations"] = {**annotations, EXPIRATION: verdict.value}
