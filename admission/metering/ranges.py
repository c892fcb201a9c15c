"""A ShootLimitRange as limits are checked and defaults are filled in: parsed once per content."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from admission.metering.prices import nanos
from apis.meta.transaction import Object


@dataclass(frozen=True, slots=True)
class Bound:
    """`amount` in nanos."""

    metric: str
    amount: int


@dataclass(frozen=True, slots=True)
class Limit:
    """One entry of `spec.limits`. `defaults` and `default_requests` go by metric, in nanos."""

    type: str
    minimum: tuple[Bound, ...]
    maximum: tuple[Bound, ...]
    ratio: tuple[Bound, ...]
    defaults: Mapping[str, int]
    default_requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Range:
    name: str
    default_machine_type: str | None
    default_volume_type: str | None
    limits: tuple[Limit, ...]

    def default(self, limit_type: str, metric: str, *, request: bool) -> int | None:
        """In nanos, None where the range has none."""
        for limit in self.limits:
            table = limit.default_requests if request else limit.defaults
            if limit.type == limit_type and metric in table:
                return table[metric]
        return None


def parse_range(obj: Object) -> Range:
    """Read a valid ShootLimitRange."""
    spec = obj.get("spec") or {}
    return Range(
        name=obj["metadata"]["name"],
        default_machine_type=spec.get("defaultMachineType"),
        default_volume_type=spec.get("defaultVolumeType"),
        limits=tuple(_limit(item) for item in spec.get("limits") or ()),
    )


def by_name(ranges: Iterable[Range]) -> list[Range]:
    """The order in which the ranges of a namespace take precedence and report."""
    return sorted(ranges, key=lambda item: item.name)


def _limit(item: Mapping[str, Any]) -> Limit:
    return Limit(
        type=item["type"],
        minimum=_bounds(item.get("min")),
        maximum=_bounds(item.get("max")),
        ratio=_bounds(item.get("maxLimitRequestRatio")),
        defaults={bound.metric: bound.amount for bound in _bounds(item.get("default"))},
        default_requests={
            bound.metric: bound.amount for bound in _bounds(item.get("defaultRequest"))
        },
    )


def _bounds(amounts: Mapping[str, Any] | None) -> tuple[Bound, ...]:
    """Sorted, so that messages come in the same order whatever the object's."""
    return tuple(Bound(name, nanos(value)) for name, value in sorted((amounts or {}).items()))
