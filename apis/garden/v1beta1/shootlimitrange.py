"""ShootLimitRange: bounds and defaults for the shoots of a namespace, as LimitRange for pods."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from apis.garden.v1beta1.amounts import amount_errors, amount_warnings, readable
from apis.garden.v1beta1.common import (
    AGE,
    bounded,
    dict_at,
    is_known,
    list_at,
    metric_name_errors,
    metric_quantities,
    text_at,
)
from apis.garden.v1beta1.metrics import canonical_metric
from apis.garden.v1beta1.shoot import MAX_MACHINES
from apis.meta import fields
from apis.meta.fields import FieldError
from apis.meta.quantity import NANOS, nanos_of
from apis.meta.resource import Column, Resource
from apis.meta.schema import Schema
from apis.meta.structure import MAX_FAULTS, ListOf, ListType, String, Struct
from apis.meta.transaction import Header, Object

TYPES = ("Machine", "Shoot", "Worker")

LIMITED = ("cpu", "gpu", "loadbalancer", "machines", "memory", "storage.<class>")
"""The metrics that a limit may name. A limit is about one shoot, worker or machine, by the
canonical names alone."""

AMOUNTS = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")

_FILLED_IN: Mapping[str, tuple[str, ...]] = {
    "Worker": ("machines",),
    "Machine": ("storage.<class>",),
}
"""By type: of what a default can be filled in, since a field of a worker holds it."""

_GIBI = 2**30 * NANOS


def whole_machines(nanos: int) -> int | None:
    """As a worker's autoScalerMin and autoScalerMax can be; None for any other amount."""
    machines, rest = divmod(nanos, NANOS)
    return machines if not rest and machines <= MAX_MACHINES else None


def whole_gibi(nanos: int) -> int | None:
    """The number of a worker's volumeSize; None for any other amount."""
    size, rest = divmod(nanos, _GIBI)
    return size if not rest and 0 < size < 10**10 else None


_LIMIT = Struct(
    doc="The limits of one type.",
    fields={
        "type": String(
            doc="What is limited: a whole shoot, one worker group or one machine.", enum=TYPES
        ),
        "min": metric_quantities("The least of a request, which is at autoScalerMin machines."),
        "max": metric_quantities("The most of a limit, which is at autoScalerMax machines."),
        "default": metric_quantities(
            "The limit where none is given: `machines` of a Worker for autoScalerMax, "
            "`storage.<class>` of a Machine for volumeSize. Absent: max."
        ),
        "defaultRequest": metric_quantities(
            "The request where neither it nor a limit is given: `machines` of a Worker for "
            "autoScalerMin, `storage.<class>` of a Machine for volumeSize. Absent: the default, "
            "else max, else min."
        ),
        "maxLimitRequestRatio": metric_quantities("The most that a limit may be of its request."),
    },
    required=("type",),
)


def _rules(new: Object, old: Object | None) -> Iterator[FieldError]:
    stored = {text_at(limit, "type"): limit for limit in list_at(old, "spec", "limits")}
    for index, limit in enumerate(list_at(new, "spec", "limits")):
        path, limited = f"spec.limits[{index}]", text_at(limit, "type")
        amounts = {name: dict_at(limit, name) for name in AMOUNTS}
        for name in AMOUNTS:
            yield from metric_name_errors(f"{path}.{name}", amounts[name], LIMITED)
        kept_limit = stored.get(limited)
        for name in ("min", "max"):
            before = dict_at(kept_limit, name)
            yield from amount_errors(f"{path}.{name}", amounts[name], before)
        for name in ("default", "defaultRequest"):
            if limited == "Shoot" and amounts[name]:
                detail = "may not be specified when `type` is 'Shoot'"
                yield fields.forbidden(f"{path}.{name}", detail)
            elif limited in _FILLED_IN:
                kept = dict_at(kept_limit, name)
                changed = {m: text for m, text in amounts[name].items() if kept.get(m) != text}
                yield from _default_errors(f"{path}.{name}", limited, changed)
        yield from _order_errors(path, amounts)


def _default_errors(path: str, limited: str, amounts: Mapping[str, Any]) -> Iterator[FieldError]:
    """A default must be able to be filled in: what cannot would do nothing, in silence."""
    for metric, text in amounts.items():
        canonical, value = canonical_metric(metric), _nanos(text)
        if canonical is None or not is_known(metric, LIMITED):
            continue
        if not is_known(canonical, _FILLED_IN[limited]):
            choice = _FILLED_IN[limited][0]
            detail = f"no field of a worker holds it; a {limited} has a default of {choice} only"
            yield fields.forbidden(f"{path}[{metric}]", detail)
        elif canonical == "machines":
            if value is not None and whole_machines(value) is None:
                detail = f"must be a whole number of machines, {MAX_MACHINES} at most"
                yield fields.invalid(f"{path}[{metric}]", text, detail)
        elif value is not None and whole_gibi(value) is None:
            detail = "must be a whole number of Gi, 1Gi at least, as volumeSize is"
            yield fields.invalid(f"{path}[{metric}]", text, detail)


def _warnings(new: Object, old: Object | None) -> list[str]:
    limits = list_at(new, "spec", "limits")
    if not (_bounds_something(limits) or new.get("spec", {}).keys() - {"limits"}):
        return ["spec: bounds and fills in nothing"]
    stored = {text_at(limit, "type"): limit for limit in list_at(old, "spec", "limits")}
    found = (
        text
        for index, limit in enumerate(limits)
        for name in ("min", "max")
        for text in amount_warnings(
            f"spec.limits[{index}].{name}",
            dict_at(limit, name),
            dict_at(stored.get(text_at(limit, "type")), name),
        )
    )
    return list(islice(found, MAX_FAULTS))


def _bounds_something(limits: Sequence[Object]) -> bool:
    return any(dict_at(limit, name) for limit in limits for name in AMOUNTS)


def _order_errors(path: str, amounts: Mapping[str, Mapping[str, Any]]) -> Iterator[FieldError]:
    """min <= defaultRequest <= default <= max for every metric, and a ratio that can be kept."""
    for metric in sorted({metric for by_metric in amounts.values() for metric in by_metric}):
        if canonical_metric(metric) is None:
            continue
        texts = {name: amounts[name][metric] for name in AMOUNTS if metric in amounts[name]}
        values = {name: n for name, text in texts.items() if (n := _nanos(text)) is not None}
        for (low, high), (at, detail) in ORDER.items():
            if low in values and high in values and values[low] > values[high]:
                least, most = readable(metric, texts[low]), readable(metric, texts[high])
                text = detail.format(low=least, high=most)
                yield fields.invalid(f"{path}.{at}[{metric}]", texts[at], text)
        yield from _ratio_errors(path, metric, texts, values)


ORDER: Mapping[tuple[str, str], tuple[str, str]] = {
    ("min", "max"): ("min", "min value {low} is greater than max value {high}"),
    ("min", "defaultRequest"): (
        "defaultRequest", "min value {low} is greater than default request value {high}",
    ),
    ("defaultRequest", "max"): (
        "defaultRequest", "default request value {low} is greater than max value {high}",
    ),
    ("defaultRequest", "default"): (
        "defaultRequest", "default request value {low} is greater than default limit value {high}",
    ),
    ("min", "default"): ("default", "min value {low} is greater than default value {high}"),
    ("default", "max"): ("default", "default value {low} is greater than max value {high}"),
}  # fmt: skip
"""(the lower, the higher) -> (where to report, how), in the words of LimitRange."""


def _ratio_errors(
    path: str, metric: str, texts: Mapping[str, Any], values: Mapping[str, int]
) -> list[FieldError]:
    """A ratio beyond max / min bounds nothing: exactly compared, as ratio * min > max."""
    ratio = values.get("maxLimitRequestRatio")
    if ratio is None:
        return []
    at, text = f"{path}.maxLimitRequestRatio[{metric}]", texts["maxLimitRequestRatio"]
    if ratio < NANOS:
        return [fields.invalid(at, text, f"ratio {text} is less than 1")]
    least, most = values.get("min"), values.get("max")
    if least and most is not None and most >= least and ratio * least > most * NANOS:
        detail = f"ratio {text} is greater than max/min = {texts['max']}/{texts['min']}"
        return [fields.invalid(at, text, detail)]
    return []


def _nanos(text: object) -> int | None:
    if type(text) is not str:
        return None
    try:
        return nanos_of(text)
    except ValueError:
        return None


def _limits_cell(obj: Object, _header: Header) -> object:
    """`Shoot: cpu <= 40; Worker: machines 1..5`."""
    return "; ".join(filter(None, map(_limit_text, list_at(obj, "spec", "limits"))))


def _limit_text(limit: object) -> str:
    least, most = dict_at(limit, "min"), dict_at(limit, "max")
    bounds = []
    for metric in sorted({*least, *most}):
        low, high = (readable(metric, bound.get(metric, "")) for bound in (least, most))
        if metric not in least:
            bounds.append(f"{metric} <= {high}")
        elif metric not in most:
            bounds.append(f"{metric} >= {low}")
        else:
            bounds.append(f"{metric} {low}..{high}")
    return f"{text_at(limit, 'type')}: {', '.join(bounds)}" if bounds else ""


SHOOT_LIMIT_RANGE = Resource(
    kind="ShootLimitRange",
    plural="shootlimitranges",
    singular="shootlimitrange",
    short_names=("slr",),
    schema=Schema(
        Struct(
            doc="Bounds and defaults for the shoots of a namespace.",
            fields={
                "spec": Struct(
                    doc="What is bounded and what is filled in.",
                    fields={
                        "limits": ListOf(
                            doc="The limits, one entry per type.",
                            items=_LIMIT,
                            semantics=ListType.MAP,
                            keys=("type",),
                        ),
                        "defaultMachineType": String(
                            doc="The machine type of workers that name none.", min_length=1
                        ),
                        "defaultVolumeType": String(
                            doc="The volume type of workers that name none.", min_length=1
                        ),
                    },
                )
            },
            required=("spec",),
        )
    ),
    columns=(
        Column("Limits", _limits_cell, description="The bounds, by type and metric."),
        AGE,
    ),
    rules=bounded(_rules),
    warnings=_warnings,
)
