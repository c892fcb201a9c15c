"""What the ShootLimitRanges of a namespace fill in, in the order that LimitRange documents.

    limit (autoScalerMax)      given, else `default`, else `max`
    request (autoScalerMin)    given, else a limit that was given, else `defaultRequest`, else
                               `default`, else `max`, else `min`

The size of a volume is request and limit at once: `default`, `defaultRequest`, `max`, `min`. Of
several ranges the first by name that has a default counts; only where none has one, the tightest
bound of all stands in for it, which every other bound of its kind allows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from admission.metering.ranges import Range, by_name
from apis.garden.v1beta1.common import dict_at, list_at, text_at
from apis.garden.v1beta1.shoot import OWN_VOLUMES, WITHOUT_MACHINES
from apis.garden.v1beta1.shootlimitrange import whole_gibi, whole_machines
from apis.garden.v1beta1.workers import providers_in
from apis.meta.transaction import Object

ClassOf = Callable[[str, str], str | None]
"""(provider, volume type) -> the volume's class, None for an unknown type."""

Found = tuple[Any, str]
"""A value that can be filled in, and the name of the range that has it."""


def fill_in(shoot: Object, ranges: Iterable[Range], class_of: ClassOf) -> Mapping[str, str]:
    """Give workers what they leave open, in place. Answers: field path -> name of the range.

    The shoot has not been validated: what has not the expected shape is left for validation.
    """
    ordered = by_name(ranges)
    cloud = dict_at(shoot, "spec", "cloud")
    filled: dict[str, str] = {}
    for provider in providers_in(cloud):
        for index, worker in enumerate(list_at(cloud, provider, "workers")):
            if type(worker) is dict:
                path = f"spec.cloud.{provider}.workers[{index}]"
                for field, name in _fill_worker(worker, ordered, provider, class_of):
                    filled[f"{path}.{field}"] = name
    return filled


def _fill_worker(
    worker: dict[str, Any], ranges: list[Range], provider: str, class_of: ClassOf
) -> list[tuple[str, str]]:
    """(field, name of the range) of what was filled in."""
    filled: list[tuple[str, str]] = []

    def fill(field: str, found: Sequence[Found]) -> None:
        if found and worker.get(field) is None:
            worker[field], name = found[0]
            filled.append((field, name))

    if provider not in WITHOUT_MACHINES:
        fill("machineType", _types((item.default_machine_type, item.name) for item in ranges))
        if provider not in OWN_VOLUMES:
            fill("volumeType", _types((item.default_volume_type, item.name) for item in ranges))
            # The class follows from the type, so the size comes after it.
            volume_class = class_of(provider, text_at(worker, "volumeType"))
            if volume_class:
                fill("volumeSize", _sizes(ranges, f"storage.{volume_class}"))
    limits, requests = _machines(ranges)
    given = worker.get("autoScalerMax")
    if requests and given is not None and worker.get("autoScalerMin") is None:
        worker["autoScalerMin"] = given
    fill("autoScalerMax", limits)
    fill("autoScalerMin", requests)
    return filled


def _types(found: Iterable[tuple[str | None, str]]) -> list[Found]:
    return [(value, name) for value, name in found if value is not None]


def _sizes(ranges: list[Range], metric: str) -> list[Found]:
    def found(name: str) -> list[Found]:
        return _amounts(ranges, "Machine", name, metric, whole_gibi)

    tightest = sorted(found("max")) or sorted(found("min"), reverse=True)
    sizes = found("default") or found("defaultRequest") or tightest
    return [(f"{size}Gi", name) for size, name in sizes]


def _machines(ranges: list[Range]) -> tuple[list[Found], list[Found]]:
    """Limits and requests."""

    def found(name: str) -> list[Found]:
        return _amounts(ranges, "Worker", name, "machines", whole_machines)

    limits = found("default") or sorted(found("max"))
    requests = found("defaultRequest") or limits or sorted(found("min"), reverse=True)
    return limits, requests


def _amounts(
    ranges: list[Range],
    limit_type: str,
    name: str,
    metric: str,
    whole: Callable[[int], int | None],
) -> list[Found]:
    """Of those ranges that have one that a worker can have, in the ranges' order."""
    amounts = ((item.amount(limit_type, name, metric), item.name) for item in ranges)
    return [
        (value, of)
        for amount, of in amounts
        if amount is not None and (value := whole(amount)) is not None
    ]
