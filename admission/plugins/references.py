"""What an object refers to must be there, and its author must be allowed to see it.

Only references that an update changes are judged: a label can be set on a binding whose secret
is gone. The existence of quotas and bindings is no matter of this plugin: the transaction of the
write guards them, so that no race leaves a dangling reference.
"""

from admission.metering.demand import provider_of
from admission.metering.prices import of_record
from admission.plugins.lookups import SHOOTS, Profiles, ReferenceChecker
from apis.garden.v1beta1.bindings import BINDING_PLURALS, quotas_of, secret_of
from apis.meta import errors
from apis.meta.errors import StatusError
from apis.meta.fields import FieldError, invalid, no_object
from apis.meta.keys import GROUP
from apis.meta.request import Attributes
from apis.meta.transaction import Object

PROFILE = "spec.cloud.profile"


class ReferenceManager:
    def __init__(self, checker: ReferenceChecker, profiles: Profiles) -> None:
        self._checker = checker
        self._profiles = profiles

    async def validate(self, attributes: Attributes) -> None:
        obj = attributes.obj
        if obj is None or attributes.subresource:
            return
        if attributes.resource.kind in BINDING_PLURALS:
            await self._binding(attributes, obj)
        elif attributes.resource.plural == SHOOTS:
            await self._shoot(attributes, obj)

    async def _binding(self, attributes: Attributes, binding: Object) -> None:
        old = attributes.old
        secret = secret_of(binding)
        new_secret = old is None or secret_of(old) != secret
        known = () if old is None else quotas_of(old)
        quotas = [quota for quota in quotas_of(binding) if quota not in known]
        # Permission before existence: who may not read a secret does not learn whether it is there.
        if new_secret and not await self._may_get(attributes, "", "secrets", secret):
            raise _unreadable(attributes, "secret")
        for quota in quotas:
            if not await self._may_get(attributes, GROUP, "quotas", quota):
                raise _unreadable(attributes, "quota")
        if new_secret and await self._checker.secret_exists(*secret) is False:
            raise _invalid(attributes, no_object("secretRef.name", "Secret", secret[1], secret[0]))

    async def _may_get(
        self, attributes: Attributes, group: str, resource: str, target: tuple[str, str]
    ) -> bool:
        return await self._checker.may(attributes.user, "get", group, resource, *target)

    async def _shoot(self, attributes: Attributes, shoot: Object) -> None:
        """Profile and provider; a stored shoot outlives its profile, for it keeps its prices."""
        cloud, old = shoot["spec"]["cloud"], attributes.old
        provider = provider_of(cloud)
        if old is not None and provider_of(old["spec"]["cloud"]) == provider:
            return
        profile = await self._profiles.profile(cloud["profile"])
        if profile is None:
            raise _invalid(attributes, no_object(PROFILE, "CloudProfile", cloud["profile"]))
        if provider not in of_record(profile):
            detail = f"the profile has no {provider} section"
            raise _invalid(attributes, invalid(PROFILE, cloud["profile"], detail))


def _unreadable(attributes: Attributes, what: str) -> StatusError:
    kind = attributes.resource.kind
    why = f"{kind} cannot reference a {what} you are not allowed to read"
    return errors.forbidden(attributes.resource, attributes.name, why)


def _invalid(attributes: Attributes, error: FieldError) -> StatusError:
    resource = attributes.resource
    return errors.invalid(resource.kind, resource.group, attributes.name, [error])
