"""What the ShootLimitRanges of a namespace allow and fill in: LimitRanger's semantics for shoots.

A worker's request of a resource is what it uses at autoScalerMin machines, its limit at
autoScalerMax. All comparisons are exact: a ratio is compared as `limit > request * ratio`.
"""

from collections.abc import Callable, Iterable
from typing import Any

from admission.metering.charges import Usage, UsageByType
from admission.metering.demand import demand_of
from admission.metering.evaluators import quantity_text
from admission.metering.ranges import Limit, Range, by_name
from apis.garden.v1beta1.common import dict_at, list_at, text_at
from apis.garden.v1beta1.shoot import OWN_VOLUMES, WITHOUT_MACHINES
from apis.garden.v1beta1.workers import providers_in
from apis.meta.quantity import NANOS, text_of
from apis.meta.transaction import Object

GIBI = 2**30 * NANOS
_MICROS = 10**6

ClassOf = Callable[[str, str], str | None]
"""(provider, volume type) -> the volume's class, None for an unknown type."""


def violations(ranges: Iterable[Range], usage: UsageByType) -> list[str]:
    """Everything that any range forbids, each said once, in Kubernetes' words."""
    subjects = {
        "Shoot": (usage.shoot,),
        "Worker": usage.workers,
        "Machine": usage.machines,
    }
    messages: dict[str, None] = {}
    for item in by_name(ranges):
        for limit in item.limits:
            for subject in subjects.get(limit.type, ()):
                messages.update(dict.fromkeys(_violations(limit, subject)))
    return list(messages)


def same_bounds(new: Object, old: Object) -> bool:
    """Whether no range can judge `new` otherwise than `old`, at the same prices. Both are valid."""
    return new["spec"] == old["spec"] or _bounded(new) == _bounded(old)


def fill_in(shoot: Object, ranges: Iterable[Range], class_of: ClassOf) -> None:
    """Give workers what they leave open, field by field; the first range by name that has it wins.

    The shoot has not been validated: what has not the expected shape is left for validation.
    """
    ordered = by_name(ranges)
    cloud = dict_at(shoot, "spec", "cloud")
    for provider in providers_in(cloud):
        for worker in list_at(cloud, provider, "workers"):
            if type(worker) is dict:
                _fill_worker(worker, ordered, provider, class_of)


def _fill_worker(
    worker: dict[str, Any], ranges: list[Range], provider: str, class_of: ClassOf
) -> None:
    if provider not in WITHOUT_MACHINES:
        _fill(worker, "machineType", (item.default_machine_type for item in ranges))
        if provider not in OWN_VOLUMES:
            _fill(worker, "volumeType", (item.default_volume_type for item in ranges))
            # The class follows from the type, so the size comes after it.
            volume_class = class_of(provider, text_at(worker, "volumeType"))
            if volume_class:
                metric = f"storage.{volume_class}"
                _fill(worker, "volumeSize", (_volume_size(item, metric) for item in ranges))
    _fill(worker, "autoScalerMin", (_machines(item, request=True) for item in ranges))
    _fill(worker, "autoScalerMax", (_machines(item, request=False) for item in ranges))


def _violations(limit: Limit, usage: Usage) -> Iterable[str]:
    """A metric that does not apply (a class that the subject has no disks of) is not bounded."""
    for bound in limit.minimum:
        request = usage.requests.get(bound.metric)
        if request is not None and request < bound.amount:
            bounded = quantity_text(bound.metric, bound.amount)
            asked = quantity_text(bound.metric, request)
            yield (
                f"minimum {bound.metric} usage per {limit.type} is {bounded}, "
                f"but request is {asked}"
            )
    for bound in limit.maximum:
        used = usage.limits.get(bound.metric)
        if used is not None and used > bound.amount:
            bounded = quantity_text(bound.metric, bound.amount)
            asked = quantity_text(bound.metric, used)
            yield (
                f"maximum {bound.metric} usage per {limit.type} is {bounded}, but limit is {asked}"
            )
    for bound in limit.ratio:
        request = usage.requests.get(bound.metric)
        used = usage.limits.get(bound.metric)
        # Both sides in nanos squared: nothing is divided, nothing rounded.
        if request is not None and used is not None and used * NANOS > request * bound.amount:
            yield (
                f"{bound.metric} max limit to request ratio per {limit.type} is "
                f"{_decimal(bound.amount, NANOS)}, but {_provided(used, request)}"
            )


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
    pools = sorted(
        (p.machine_type, p.volume_type, p.volume_size or 0, p.minimum, p.maximum)
        for p in demand.pools
    )
    return demand.provider, demand.load_balancers, pools


def _fill(worker: dict[str, Any], field: str, values: Iterable[object]) -> None:
    if worker.get(field) is None:
        value = next((value for value in values if value is not None), None)
        if value is not None:
            worker[field] = value


def _volume_size(item: Range, metric: str) -> str | None:
    """As volume sizes are written, `<n>Gi`, where it is a whole number of them. One machine's
    request and limit are the same, so either default will do."""
    amount = item.default("Machine", metric, request=False)
    if amount is None:
        amount = item.default("Machine", metric, request=True)
    if amount is None:
        return None
    size, rest = divmod(amount, GIBI)
    return text_of(amount, "BinarySI") if rest else f"{size}Gi"


def _machines(item: Range, *, request: bool) -> int | None:
    """A number of machines; a fraction of one is no default."""
    amount = item.default("Worker", "machines", request=request)
    if amount is None or amount % NANOS:
        return None
    return amount // NANOS
