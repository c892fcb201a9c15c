"""Gives a shoot the time at which it expires, and keeps users from outliving their quotas."""

from collections.abc import Callable, Sequence
from datetime import datetime

from admission.metering.cache import Parsed
from admission.metering.lifetimes import LIVES, Life, Verdict, life_of, on_create, on_update
from admission.plugins.lookups import SHOOTS, BindingQuotas, Rights
from apis.garden.v1beta1.shoot import CREATION_TIME, EXPIRATION, binding_of
from apis.meta import errors
from apis.meta.fields import FieldError
from apis.meta.keys import GROUP
from apis.meta.request import Attributes, Operation
from apis.meta.times import parse_rfc3339
from apis.meta.transaction import Object


class Lifetime:
    """The rules are in `admission.metering.lifetimes`.

    Who may `update` a quota sponsors it: they may give its clusters a longer life. Rights are asked
    for only where an expiration is beyond what members may set; without an answer it is refused.
    """

    def __init__(
        self, quotas: BindingQuotas, rights: Rights, clock: Callable[[], datetime]
    ) -> None:
        self._quotas = quotas
        self._rights = rights
        self._clock = clock
        self._lives: Parsed[Life | None] = Parsed(life_of)

    async def admit(self, attributes: Attributes) -> None:
        obj, old = attributes.obj, attributes.old
        if obj is None or attributes.resource.plural != SHOOTS or attributes.subresource:
            return
        if attributes.operation is Operation.CREATE:
            verdict = await self._on_create(attributes, obj)
        elif old is None or "deletionTimestamp" in old["metadata"]:
            return
        else:
            verdict = await self._on_update(attributes, obj, old)
        faults = verdict.errors or await self._unsponsored(attributes, verdict)
        if faults:
            kind, group = attributes.resource.kind, attributes.resource.group
            raise errors.invalid(kind, group, attributes.name, faults)
        if verdict.annotations:
            # A new dict: an update may share its annotations with the old object.
            obj["metadata"]["annotations"] = {**_annotations(obj), **verdict.annotations}

    async def _on_create(self, attributes: Attributes, obj: Object) -> Verdict:
        lives = await self._lives_of(obj, attributes.namespace)
        # The binding may come, and the quotas may change, before the shoot is stored.
        attributes.relied_on[LIVES] = tuple(lives)
        return on_create(_annotations(obj), created=self._created(obj), lives=lives)

    async def _on_update(self, attributes: Attributes, obj: Object, old: Object) -> Verdict:
        after, before = _annotations(obj), _annotations(old)
        if all(after.get(name) == before.get(name) for name in (EXPIRATION, CREATION_TIME)):
            return Verdict()
        # The binding is immutable, so the stored shoot names the one that counts.
        lives = await self._lives_of(old, attributes.namespace)
        return on_update(after, before, created=self._created(old), lives=lives)

    async def _unsponsored(
        self, attributes: Attributes, verdict: Verdict
    ) -> tuple[FieldError, ...]:
        for beyond in verdict.beyond:
            if not await self._rights.may(
                attributes.user, "update", GROUP, "quotas", *beyond.quota
            ):
                return (beyond.refusal,)
        return ()

    async def _lives_of(self, shoot: Object, namespace: str) -> Sequence[Life]:
        """Empty for a shoot that names no binding yet, which is left to validation."""
        kind, name = binding_of(shoot)
        if not name:
            return ()
        records = await self._quotas.quotas_of(namespace, kind, name)
        lives = [self._lives.of_record(record) for record in records]
        return [life for life in lives if life is not None]

    def _created(self, obj: Object) -> datetime:
        """As the registry has stamped the object."""
        stamped = obj["metadata"].get("creationTimestamp")
        return parse_rfc3339(stamped) if stamped else self._clock()


def _annotations(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}
