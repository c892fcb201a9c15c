"""Fills in and enforces the ShootLimitRanges of a shoot's namespace."""

from admission.metering.cache import Parsed
from admission.metering.charges import Unpriceable, requests_and_limits
from admission.metering.limits import fill_in, same_bounds, violations
from admission.metering.prices import NOTHING_LISTED, ProfilePrices, of_record
from admission.metering.ranges import Range, parse_range
from admission.plugins.lookups import SHOOTS, LimitRanges, Profiles, Shoots
from apis.garden.v1beta1.common import text_at
from apis.meta import errors
from apis.meta.request import Attributes, Operation
from apis.meta.transaction import Object, Record


class ShootLimitRange:
    """A mutating plugin (defaults) and a validating one (limits) with the same lookups.

    Nothing is judged that leaves the demand as it was, nor a shoot that is being deleted.
    """

    def __init__(self, ranges: LimitRanges, profiles: Profiles, shoots: Shoots) -> None:
        self._ranges = ranges
        self._profiles = profiles
        self._shoots = shoots
        self._parsed: Parsed[Range] = Parsed(parse_range)

    async def admit(self, attributes: Attributes) -> None:
        obj = attributes.obj
        if obj is None or not _concerns(attributes):
            return
        ranges = await self._of_namespace(attributes.namespace)
        if not ranges:
            return
        profile = await self._profile(obj)
        prices: ProfilePrices = {} if profile is None else of_record(profile)

        def class_of(provider: str, volume_type: str) -> str | None:
            price = prices.get(provider, NOTHING_LISTED).volume(volume_type)
            return None if price is None else price.storage_class

        fill_in(obj, ranges, class_of)

    async def validate(self, attributes: Attributes) -> None:
        obj, old = attributes.obj, attributes.old
        if obj is None or not _concerns(attributes):
            return
        if old is not None and same_bounds(obj, old):
            return
        ranges = await self._of_namespace(attributes.namespace)
        if not ranges:
            return
        resource, name = attributes.resource, attributes.name
        stored = None
        if attributes.operation is Operation.UPDATE:
            stored = await self._shoots.stored_prices(attributes.namespace, name)
        try:
            usage = requests_and_limits(obj, await self._profile(obj), stored)
        except Unpriceable as unknown:
            raise errors.invalid(resource.kind, resource.group, name, unknown.errors) from unknown
        messages = violations(ranges, usage)
        if messages:
            why = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
            raise errors.forbidden(resource, name, why)

    async def _of_namespace(self, namespace: str) -> list[Range]:
        records = await self._ranges.limit_ranges(namespace)
        return [self._parsed.of_record(record) for record in records]

    async def _profile(self, shoot: Object) -> Record | None:
        name = text_at(shoot, "spec", "cloud", "profile")
        return await self._profiles.profile(name) if name else None


def _concerns(attributes: Attributes) -> bool:
    """Whether ranges have a say at all: on a shoot's spec, as long as the shoot is to live."""
    if attributes.resource.plural != SHOOTS or attributes.subresource:
        return False
    old = attributes.old
    return old is None or "deletionTimestamp" not in old["metadata"]
