"""The names of what quotas and shoot limits count. A metric is added here and in its evaluator.

A metric has one canonical name; some have a twin that means the same. `<class>` in a name stands
for the class of a volume type, as cloud profiles declare it: `storage.premium`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from apis.meta.quantity import Format

CLASS_PATTERN = r"^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
"""What a volume class may be called: anything else could not be named in a quota."""

_PLACEHOLDER = "<class>"
_CLASS = re.compile(CLASS_PATTERN)


@dataclass(frozen=True, slots=True)
class Metric:
    """`format` is the suffix family of canonical quantities of this metric; BinarySI: bytes.
    `whole`: no part of one can be had, as with a core ResourceQuota's counts and extended resources.
    """

    name: str
    doc: str
    twin: str = ""
    format: Format = "DecimalSI"
    whole: bool = False

    @property
    def classed(self) -> bool:
        """One metric per volume class."""
        return self.name.endswith(_PLACEHOLDER)


METRICS: tuple[Metric, ...] = (
    Metric("cpu", "CPUs of all machines", twin="cpus"),
    Metric("gpu", "GPUs of all machines", twin="gpus", whole=True),
    Metric("memory", "memory of all machines", format="BinarySI"),
    Metric(
        "storage.<class>",
        "volumes of this class of all machines",
        twin="disk.<class>",
        format="BinarySI",
    ),
    Metric("pvc.<class>", "volumes of this class claimed inside a cluster", format="BinarySI"),
    Metric("loadbalancer", "load balancers", twin="loadbalancers", whole=True),
    Metric("machines", "machines of all worker groups", whole=True),
    Metric("shoots", "clusters", whole=True),
)

CANONICAL: tuple[str, ...] = tuple(metric.name for metric in METRICS)
KNOWN: tuple[str, ...] = CANONICAL + tuple(metric.twin for metric in METRICS if metric.twin)
"""Every name that a quota may use, with `<class>` as it is; for messages."""

_PLAIN: dict[str, Metric] = {}
_CLASSED: dict[str, Metric] = {}
for _metric in METRICS:
    for _name in filter(None, (_metric.name, _metric.twin)):
        if _metric.classed:
            _CLASSED[_name.removesuffix(_PLACEHOLDER)] = _metric
        else:
            _PLAIN[_name] = _metric


@lru_cache(maxsize=4096)
def _resolve(name: str) -> tuple[Metric, str] | None:
    if (plain := _PLAIN.get(name)) is not None:
        return plain, plain.name
    stem, dot, volume_class = name.partition(".")
    metric = _CLASSED.get(stem + dot)
    if metric is None or _CLASS.fullmatch(volume_class) is None:
        return None
    return metric, metric.name.replace(_PLACEHOLDER, volume_class)


def canonical_metric(name: str) -> str | None:
    """The canonical name (`disk.premium` -> `storage.premium`), or None for an unknown one."""
    found = _resolve(name)
    return None if found is None else found[1]


def format_of(metric: str) -> Format:
    """The quantity format of a metric, canonical or twin; DecimalSI for unknown ones."""
    found = _resolve(metric)
    return "DecimalSI" if found is None else found[0].format


def is_whole(metric: str) -> bool:
    """Whether an amount of the metric, canonical or twin, is a whole number."""
    found = _resolve(metric)
    return found is not None and found[0].whole
