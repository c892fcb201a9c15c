"""A ShootLimitRange as limits are checked and defaults are filled in: parsed once per content."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from admission.metering.prices import nanos
from apis.garden.v1beta1.amounts import shown_amount
from apis.garden.v1beta1.shootlimitrange import AMOUNTS, ORDER
from apis.meta.transaction import Object

Amounts = Mapping[str, int]
"""Metric -> nanos, sorted by metric, so that messages come in the same order whatever the object's."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One entry of `spec.limits`: min, max, default, defaultRequest, maxLimitRequestRatio by name."""

    type: str
    amounts: Mapping[str, Amounts]


@dataclass(frozen=True, slots=True)
class Range:
    """`name` is `namespace/name`, as messages show it."""

    name: str
    default_machine_type: str | None
    default_volume_type: str | None
    limits: tuple[Limit, ...]

    def amount(self, limit_type: str, name: str, metric: str) -> int | None:
        """In nanos, None where the range has none. `name`: as in `Limit`."""
        for limit in self.limits:
            if limit.type == limit_type and metric in limit.amounts[name]:
                return limit.amounts[name][metric]
        return None


def parse_range(obj: Object) -> Range:
    """Read a valid ShootLimitRange."""
    spec, metadata = obj.get("spec") or {}, obj["metadata"]
    return Range(
        name=f"{metadata['namespace']}/{metadata['name']}",
        default_machine_type=spec.get("defaultMachineType"),
        default_volume_type=spec.get("defaultVolumeType"),
        limits=tuple(
            Limit(item["type"], {name: _amounts(item.get(name)) for name in AMOUNTS})
            for item in spec.get("limits") or ()
        ),
    )


def by_name(ranges: Iterable[Range]) -> list[Range]:
    """The order in which the ranges of a namespace take precedence and report."""
    return sorted(ranges, key=lambda item: item.name)


def contradictions(own: Range, others: Iterable[Range]) -> Iterator[str]:
    """Where `own` and another range of its namespace cannot both be kept, in words: what has to be
    in order within one range (`ORDER`) is not so between the two."""
    for other in by_name(others):
        for mine in own.limits:
            for theirs in other.limits:
                if mine.type == theirs.type:
                    for what in _disorder(mine, theirs):
                        yield f"contradicts ShootLimitRange {other.name}: {what}"


def _disorder(mine: Limit, theirs: Limit) -> Iterator[str]:
    for low, high in ORDER:
        for (lesser, its), (greater, of) in (
            ((mine, "its"), (theirs, "the other's")),
            ((theirs, "the other's"), (mine, "its")),
        ):
            lows, highs = lesser.amounts[low], greater.amounts[high]
            for metric in lows:
                if metric in highs and lows[metric] > highs[metric]:
                    least = shown_amount(metric, lows[metric])
                    most = shown_amount(metric, highs[metric])
                    yield (
                        f"{its} {low} of {metric} per {mine.type}, {least}, "
                        f"is greater than {of} {high}, {most}"
                    )


def _amounts(amounts: Mapping[str, Any] | None) -> Amounts:
    return {metric: nanos(value) for metric, value in sorted((amounts or {}).items())}
