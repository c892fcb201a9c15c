"""What the auditor sees of stored objects, and what it reports."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from apis.garden.v1beta1.bindings import BINDING_PLURALS
from apis.garden.v1beta1.metrics import canonical_metric, format_of
from apis.garden.v1beta1.shoot import DEFAULT_BINDING_KIND
from apis.meta.keys import object_key
from apis.meta.quantity import nanos_of, text_of
from apis.meta.transaction import Charge, Object, Record

Sums = Counter[str]
"""Canonical metric -> nanos. What is zero may be absent."""

BINDINGS = frozenset(BINDING_PLURALS.values())

Change = tuple[str, Record | None]
"""A key, and its new value or None for a removal."""


@dataclass(frozen=True, slots=True)
class Violation:
    """`subject` is a key; `what` names the account, `expected` is the auditor's sum."""

    revision: int
    subject: str
    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"revision {self.revision}: {self.subject}: {self.what}: "
            f"expected {self.expected}, found {self.found}"
        )


@dataclass(slots=True)
class Total:
    """What a number of shoots is charged."""

    charge: Sums = field(default_factory=Counter)
    count: int = 0

    def add(self, other: "Total", sign: int = 1) -> None:
        for metric, nanos in other.charge.items():
            self.charge[metric] += sign * nanos
        self.count += sign * other.count


@dataclass(frozen=True, slots=True)
class Shoot:
    """`body`: a number that two shoots share only if they are stored alike, charges aside."""

    binding: str
    total: Total
    body: int


@dataclass(frozen=True, slots=True)
class Quota:
    """`hard` is spec.metrics; `used` and `shown_hard` are what its status shows."""

    secret: bool
    hard: Mapping[str, str]
    used: Mapping[str, str]
    shown_hard: Mapping[str, str]
    charge: Sums


@dataclass(frozen=True, slots=True)
class Usage:
    """A QuotaUsage: `quota` is the key of the quota whose use it shows."""

    quota: str
    namespace: str
    used: Mapping[str, str]
    shown_hard: Mapping[str, str]
    charge: Sums


def read_shoot(namespace: str, record: Record) -> Shoot:
    ref = record.object()["spec"]["cloud"]["secretBindingRef"]
    resource = BINDING_PLURALS[ref.get("kind") or DEFAULT_BINDING_KIND]
    binding = object_key(resource, namespace, ref["name"])
    return Shoot(binding, Total(sums_of(record.header.charge), 1), hash(record.body))


def read_binding(namespace: str, record: Record) -> frozenset[str]:
    """The keys of the quotas that it names."""
    return frozenset(
        object_key("quotas", ref.get("namespace") or namespace, ref["name"])
        for ref in record.object().get("quotas") or ()
    )


def read_quota(record: Record) -> Quota:
    obj = record.object()
    return Quota(
        secret=obj["spec"]["scope"] == "secret",
        hard=obj["spec"].get("metrics") or {},
        used=_status(obj, "used"),
        shown_hard=_status(obj, "hard"),
        charge=sums_of(record.header.charge),
    )


def read_usage(namespace: str, record: Record) -> Usage:
    obj = record.object()
    ref = obj["spec"]["quotaRef"]
    return Usage(
        quota=object_key("quotas", ref["namespace"], ref["name"]),
        namespace=namespace,
        used=_status(obj, "used"),
        shown_hard=_status(obj, "hard"),
        charge=sums_of(record.header.charge),
    )


def _status(obj: Object, name: str) -> Mapping[str, str]:
    found: Mapping[str, str] = (obj.get("status") or {}).get(name) or {}
    return found


def canonical(metric: str) -> str:
    """An unknown name is kept as it is: it will not be found where it is looked for."""
    return canonical_metric(metric) or metric


def sums_of(charge: Charge | None) -> Sums:
    return Counter({canonical(m): nanos_of(q) for m, q in (charge or {}).items()})


def text_of_sums(sums: Mapping[str, int]) -> str:
    shown = (f"{m}={text_of(n, format_of(m))}" for m, n in sorted(sums.items()) if n)
    return ",".join(shown) or "nothing"
