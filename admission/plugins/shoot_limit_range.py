"""Fills in and enforces the ShootLimitRanges of a shoot's namespace."""

from collections.abc import Mapping
from itertools import islice

from admission.metering.cache import Parsed
from admission.metering.charges import Unpriceable, UsageByType, requests_and_limits
from admission.metering.demand import demand_of
from admission.metering.limits import Violation, same_bounds, same_workers, violations
from admission.metering.prices import NOTHING_LISTED, ProfilePrices, of_record
from admission.metering.range_defaults import fill_in
from admission.metering.ranges import Range, contradictions, parse_range
from admission.plugins.lookups import SHOOTS, LimitRanges, Profiles, Shoots
from apis.garden.v1beta1.common import text_at
from apis.garden.v1beta1.shootlimitrange import SHOOT_LIMIT_RANGE
from apis.meta import errors
from apis.meta.errors import MAX_CAUSES, StatusError
from apis.meta.fields import blame_defaults, notes_of_defaults
from apis.meta.request import Attributes
from apis.meta.transaction import Object, Record

MAX_WARNINGS = 10
"""Contradictions of one range that are told."""


class ShootLimitRange:
    """A mutating plugin (defaults) and a validating one (limits) with the same lookups.

    Nothing is judged that leaves the demand as it was. A shoot that is being deleted is judged as any
    other, and gets no defaults. A range itself is taken as it is; where it contradicts another its
    author is warned.
    """

    def __init__(self, ranges: LimitRanges, profiles: Profiles, shoots: Shoots) -> None:
        self._ranges = ranges
        self._profiles = profiles
        self._shoots = shoots
        self._parsed: Parsed[Range] = Parsed(parse_range)

    async def admit(self, attributes: Attributes) -> None:
        obj = attributes.obj
        if obj is None or not _concerns(attributes) or _is_terminating(attributes.old):
            return
        ranges = await self._of_namespace(attributes.namespace)
        if not ranges:
            return
        profile = await self._profile(obj)
        prices: ProfilePrices = {} if profile is None else of_record(profile)

        def class_of(provider: str, volume_type: str) -> str | None:
            price = prices.get(provider, NOTHING_LISTED).volume(volume_type)
            return None if price is None else price.storage_class

        filled = fill_in(obj, ranges, class_of)
        attributes.defaulted.update(
            {path: f"ShootLimitRange {name}" for path, name in filled.items()}
        )

    async def validate(self, attributes: Attributes) -> None:
        obj, old = attributes.obj, attributes.old
        if obj is None:
            return
        if attributes.resource is SHOOT_LIMIT_RANGE:
            await self._warn(attributes, obj)
            return
        if not _concerns(attributes) or (old is not None and same_bounds(obj, old)):
            return
        ranges = await self._of_namespace(attributes.namespace)
        if not ranges:
            return
        found = await self._judge(attributes, obj, ranges)
        if found:
            raise _refusal(attributes, found, obj)

    async def _judge(
        self, attributes: Attributes, obj: Object, ranges: list[Range]
    ) -> Mapping[str, Violation]:
        old = attributes.old
        profile, stored = await self._profile(obj), None
        if old is not None:
            namespace, name = attributes.namespace, attributes.name
            stored = await self._shoots.stored_prices(namespace, name)
        try:
            usage = requests_and_limits(obj, profile, stored)
        except Unpriceable as unknown:
            resource = attributes.resource
            faults = blame_defaults(unknown.errors, attributes.defaulted)
            raise errors.invalid(
                resource.kind, resource.group, attributes.name, faults
            ) from unknown
        if old is None:
            return violations(ranges, usage)
        try:
            before: UsageByType = requests_and_limits(old, profile, stored)
        except Unpriceable:
            return violations(ranges, usage)  # nothing to compare with, so all of it is judged
        workers = same_workers(demand_of(obj), demand_of(old))
        return violations(ranges, usage, before, workers)

    async def _warn(self, attributes: Attributes, obj: Object) -> None:
        old = attributes.old
        if old is not None and old["spec"] == obj["spec"]:
            return
        own = parse_range(obj)
        others = await self._of_namespace(attributes.namespace)
        found = contradictions(own, (other for other in others if other.name != own.name))
        attributes.warnings.extend(islice(found, MAX_WARNINGS))

    async def _of_namespace(self, namespace: str) -> list[Range]:
        records = await self._ranges.limit_ranges(namespace)
        return [self._parsed.of_record(record) for record in records]

    async def _profile(self, shoot: Object) -> Record | None:
        name = text_at(shoot, "spec", "cloud", "profile")
        return await self._profiles.profile(name) if name else None


def _refusal(attributes: Attributes, found: Mapping[str, Violation], obj: Object) -> StatusError:
    """Kubernetes' words, each with the ranges that say so, then what the client did not write."""
    texts = [f"{message} ({_ranges(item.ranges)})" for message, item in found.items()]
    left_out = len(texts) - MAX_CAUSES
    if left_out > 0:
        texts[MAX_CAUSES:] = [f"and {left_out} more"]
    why = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    why = "; ".join([why, *notes_of_defaults(_defaults(attributes, found, obj))])
    return errors.forbidden(attributes.resource, attributes.name, why)


def _ranges(names: list[str]) -> str:
    return f"ShootLimitRange{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _defaults(
    attributes: Attributes, found: Mapping[str, Violation], obj: Object
) -> Mapping[str, str]:
    """What was filled into the workers that are refused; into all, where the shoot is."""
    refused = {item.worker for item in found.values()}
    paths = {
        pool.path
        for worker, pool in enumerate(demand_of(obj).pools)
        if worker in refused or None in refused
    }
    defaulted = attributes.defaulted.items()
    return {path: by for path, by in defaulted if path.rpartition(".")[0] in paths}


def _concerns(attributes: Attributes) -> bool:
    """Whether ranges have a say at all: on a shoot's spec."""
    return attributes.resource.plural == SHOOTS and not attributes.subresource


def _is_terminating(obj: Object | None) -> bool:
    return obj is not None and "deletionTimestamp" in obj["metadata"]
