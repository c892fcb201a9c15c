"""What the ShootLimitRanges of a namespace allow: LimitRanger's semantics for shoots.

A worker's request of a resource is what it uses at autoScalerMin machines, its limit at
autoScalerMax. All comparisons are exact: a ratio is compared as `limit > request * ratio`.

Of an update only what it changes is judged, as quotas do it: what was beyond a bound may stay there
and may come nearer to it. Both sides are at the same prices.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from admission.metering.charges import Usage, UsageByType
from admission.metering.demand import Demand, Pool, demand_of
from admission.metering.ranges import Limit, Range, by_name
from apis.garden.v1beta1.amounts import shown_amount
from apis.meta.quantity import NANOS
from apis.meta.transaction import Object

_MICROS = 10**6


@dataclass(frozen=True, slots=True)
class Violation:
    """`ranges`: every range that forbids it. `worker`: the first of the workers that do it, by its
    index; None for the shoot as a whole."""

    worker: int | None
    ranges: list[str] = field(default_factory=list)


def violations(
    ranges: Iterable[Range],
    usage: UsageByType,
    old: UsageByType | None = None,
    old_workers: Sequence[int | None] = (),
) -> dict[str, Violation]:
    """Everything that any range forbids, each said once, in Kubernetes' words.

    `old`: what an update starts from. `old_workers`: for each worker its index there, None for a
    new one.
    """
    subjects = _subjects(usage, old, old_workers)
    found: dict[str, Violation] = {}
    for item in by_name(ranges):
        for limit in item.limits:
            for worker, new, before in subjects.get(limit.type, ()):
                for message in _violations(limit, new, before):
                    names = found.setdefault(message, Violation(worker)).ranges
                    if item.name not in names:
                        names.append(item.name)
    return found


def same_bounds(new: Object, old: Object) -> bool:
    """Whether no range can judge `new` otherwise than `old`, at the same prices. Both are valid."""
    return new["spec"] == old["spec"] or _bounded(new) == _bounded(old)


def same_workers(new: Demand, old: Demand) -> list[int | None]:
    """For each worker of `new` its index in `old`: by name, or as one that is only renamed."""
    by_names = {pool.name: index for index, pool in enumerate(old.pools)}
    found = [by_names.pop(pool.name, None) for pool in new.pools]
    renamed = {_pool_key(old.pools[index]): index for index in by_names.values()}
    for index, pool in enumerate(new.pools):
        if found[index] is None:
            found[index] = renamed.pop(_pool_key(pool), None)
    return found


Subject = tuple[int | None, Usage, Usage | None]
"""(index of the worker, what it uses, what it used before)."""


def _subjects(
    usage: UsageByType, old: UsageByType | None, old_workers: Sequence[int | None]
) -> dict[str, list[Subject]]:
    def paired(new: Sequence[Usage], before: Sequence[Usage]) -> list[Subject]:
        indexes = old_workers or [None] * len(new)
        return [
            (index, item, None if at is None else before[at])
            for index, (item, at) in enumerate(zip(new, indexes, strict=True))
        ]

    return {
        "Shoot": [(None, usage.shoot, old.shoot if old else None)],
        "Worker": paired(usage.workers, old.workers if old else ()),
        "Machine": paired(usage.machines, old.machines if old else ()),
    }


def _violations(limit: Limit, usage: Usage, old: Usage | None) -> Iterator[str]:
    """A metric that does not apply (a class that the subject has no disks of) is not bounded."""
    before = old or Usage({}, {})
    for metric, amount in limit.amounts["min"].items():
        request, was = usage.requests.get(metric), before.requests.get(metric)
        if request is not None and request < amount and (was is None or request < was):
            bounded = shown_amount(metric, amount)
            asked = shown_amount(metric, request)
            yield f"minimum {metric} usage per {limit.type} is {bounded}, but request is {asked}"
    for metric, amount in limit.amounts["max"].items():
        used, was = usage.limits.get(metric), before.limits.get(metric)
        if used is not None and used > amount and (was is None or used > was):
            bounded = shown_amount(metric, amount)
            asked = shown_amount(metric, used)
            yield f"maximum {metric} usage per {limit.type} is {bounded}, but limit is {asked}"
    for metric, amount in limit.amounts["maxLimitRequestRatio"].items():
        request, used = usage.requests.get(metric), usage.limits.get(metric)
        # Both sides in nanos squared: nothing is divided, nothing rounded.
        if (
            request is not None
            and used is not None
            and used * NANOS > request * amount
            and _is_steeper(metric, usage, before)
        ):
            yield (
                f"{metric} max limit to request ratio per {limit.type} is "
                f"{_decimal(amount, NANOS)}, but {_provided(used, request)}"
            )


def _is_steeper(metric: str, usage: Usage, before: Usage) -> bool:
    """Whether the ratio of limit to request has grown; without a request, whether the limit has."""
    old_request, old_limit = before.requests.get(metric), before.limits.get(metric)
    if old_request is None or old_limit is None:
        return True
    request, limit = usage.requests[metric], usage.limits[metric]
    if not request and not old_request:
        return limit > old_limit
    return limit * old_request > old_limit * request


def _provided(limit: int, request: int) -> str:
    if not request:
        return "no request is specified or request is 0"
    return f"provided ratio is {_decimal(limit, request)}"


def _decimal(numerator: int, denominator: int) -> str:
    """A ratio with up to six decimals, rounded up so that one too large never looks allowed."""
    micros = -(-numerator * _MICROS // denominator)
    whole, fraction = divmod(micros, _MICROS)
    return f"{whole}.{fraction:06d}".rstrip("0").rstrip(".")


def _bounded(shoot: Object) -> tuple[object, ...]:
    demand = demand_of(shoot)
    return demand.provider, demand.load_balancers, sorted(map(_pool_key, demand.pools))


def _pool_key(pool: Pool) -> tuple[str, str, int, int, int]:
    """What ranges judge a worker by: everything but its name."""
    size = pool.volume_size or 0
    return pool.machine_type, pool.volume_type, size, pool.minimum, pool.maximum
