"""What a shoot is charged: the worst case of what it may grow to, by the table of evaluators.

These functions are what quota admission builds on; they expect valid objects.
"""

from collections.abc import Mapping
from typing import Any

from admission.metering.demand import (
    demand_of,
    forbidden_machine_types,
    is_reduction,
    same_demand,
)
from admission.metering.evaluators import add_machines, add_shoot, quantity_text
from admission.metering.prices import ProfilePrices, of_record
from admission.metering.pricing import Pricing, Unpriceable
from apis.meta.transaction import Object, Record
from apis.meta.values import valueclass

__all__ = [
    "Charged", "Unpriceable", "Usage", "UsageByType", "charge", "forbidden_machine_types",
    "has_new_prices", "is_reduction", "requests_and_limits", "same_demand",
]  # fmt: skip


@valueclass
class Charged:
    """`charge`: canonical metric -> canonical quantity; zero ones are left out.

    `prices`: what was used of the price list, to be stored with the shoot. Not to be changed.
    """

    charge: dict[str, str]
    prices: dict[str, Any]


@valueclass
class Usage:
    """Metric -> nanos: `requests` at autoScalerMin machines, `limits` at autoScalerMax."""

    requests: Mapping[str, int]
    limits: Mapping[str, int]


@valueclass
class UsageByType:
    """`workers` and `machines` (a single one of each worker) are in the order of the workers."""

    shoot: Usage
    workers: tuple[Usage, ...]
    machines: tuple[Usage, ...]


def charge(
    shoot: Object,
    profile: Record | None,
    stored_prices: Mapping[str, Any] | None = None,
    *,
    as_admitted: bool = False,
) -> Charged:
    """The charge of a shoot. Raises Unpriceable, which names every unknown type at once.

    A type that the profile lists counts as listed; one that it lists as not usable, or no longer
    (None: the profile is gone), counts only where `stored_prices` shows that the shoot was admitted
    with it, in the latter case at that price. `as_admitted`: what has a stored price counts at that
    price, whatever the profile says. The profile is parsed once per content.
    """
    demand = demand_of(shoot)
    pricing = Pricing(demand, _lists(profile), stored_prices, as_admitted=as_admitted)
    totals: dict[str, int] = {}
    for pool, machine in zip(demand.pools, pricing.machines, strict=True):
        add_machines(totals, machine, pool.maximum)
    add_shoot(totals, demand)
    charged = {name: quantity_text(name, amount) for name, amount in totals.items() if amount}
    return Charged(charged, pricing.used)


def has_new_prices(prices: Mapping[str, Any], stored_prices: Mapping[str, Any] | None) -> bool:
    """Whether a type has another price in `prices` (as in `Charged`) than in those stored."""
    return any(
        stored.get(name, price) != price
        for kind, stored in (stored_prices or {}).items()
        for name, price in prices.get(kind, {}).items()
    )


def requests_and_limits(
    shoot: Object, profile: Record | None, stored_prices: Mapping[str, Any] | None = None
) -> UsageByType:
    """What the shoot, each worker, and one machine of each worker use. Otherwise as `charge`.

    One machine's request and limit are the same. Zero amounts are kept: a minimum bounds them.
    """
    demand = demand_of(shoot)
    pricing = Pricing(demand, _lists(profile), stored_prices)
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    workers: list[Usage] = []
    machines: list[Usage] = []
    for pool, machine in zip(demand.pools, pricing.machines, strict=True):
        low: dict[str, int] = {}
        high: dict[str, int] = {}
        single: dict[str, int] = {}
        for totals, count in (
            (low, pool.minimum), (requests, pool.minimum),
            (high, pool.maximum), (limits, pool.maximum), (single, 1),
        ):  # fmt: skip
            add_machines(totals, machine, count)
        workers.append(Usage(low, high))
        machines.append(Usage(single, single))
    add_shoot(requests, demand)
    add_shoot(limits, demand)
    return UsageByType(Usage(requests, limits), tuple(workers), tuple(machines))


def _lists(profile: Record | None) -> ProfilePrices | None:
    return of_record(profile) if profile is not None else None
