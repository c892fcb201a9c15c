"""Quota: a budget for the clusters whose bindings name it."""

from collections.abc import Iterator
from itertools import chain, islice

from apis.garden.v1beta1.amounts import amount_errors, amount_warnings
from apis.garden.v1beta1.common import (
    AGE,
    at,
    bounded,
    conditions,
    dict_at,
    metric_name_errors,
    metric_quantities,
    text_at,
    text_cell,
    usage_text,
)
from apis.garden.v1beta1.metrics import canonical_metric
from apis.meta.fields import FieldError
from apis.meta.resource import Column, Resource
from apis.meta.schema import Schema
from apis.meta.structure import MAX_FAULTS, Integer, ListOf, ListType, String, Struct
from apis.meta.transaction import Header, Object

_METRICS = "spec.metrics"

SCOPES = ("project", "secret")

MAX_LIFETIME_DAYS = 36_500
"""A hundred years: creation plus lifetime stays a date that every client can read."""

_SPEC = Struct(
    doc="What is allotted.",
    fields={
        "scope": String(
            doc="Whose clusters share the budget: `secret`, all clusters of all projects whose "
            "bindings name the quota; `project`, those of each project on its own.",
            enum=SCOPES,
            immutable=True,
        ),
        "metrics": metric_quantities(
            "The most that may be used, by metric. A metric that is not named is unlimited; zero "
            "allows none. A null is refused. In a merge patch and in client-side kubectl apply it "
            "stands for a metric that is left out."
        ),
        "clusterLifetimeDays": Integer(
            doc="Days from its creation after which a cluster is deleted: at creation this becomes "
            "its annotation shoot.garden.sapcloud.io/expirationTimestamp, which its members may "
            "set earlier, and who may update this quota to any time. Absent: clusters live until "
            "deleted.",
            minimum=1,
            maximum=MAX_LIFETIME_DAYS,
        ),
        "machineTypes": ListOf(
            doc="The machine types that clusters may use. Absent: all of their cloud profile.",
            items=String(doc="a machine type", min_length=1),
            semantics=ListType.SET,
        ),
    },
    required=("scope", "metrics"),
)

_STATUS = Struct(
    doc="What is used. Written by the server, in the transaction of what it counts.",
    fields={
        "hard": metric_quantities("The metrics for which `used` was judged."),
        "used": metric_quantities("What all clusters on a quota of scope `secret` are charged."),
        "observedGeneration": Integer(doc="The generation that `hard` shows.", minimum=0),
        "conditions": conditions("What controllers say about the quota."),
    },
)


def _rules(new: Object, old: Object | None) -> Iterator[FieldError]:
    metrics = dict_at(new, "spec", "metrics")
    yield from metric_name_errors(_METRICS, metrics)
    yield from amount_errors(_METRICS, metrics, dict_at(old, "spec", "metrics"))


def _warnings(new: Object, old: Object | None) -> list[str]:
    metrics, before = new["spec"]["metrics"], dict_at(old, "spec", "metrics")
    if not metrics:
        if old is not None and not before:
            return []
        others = [name for name in ("clusterLifetimeDays", "machineTypes") if name in new["spec"]]
        rest = f"only by {' and '.join(others)}" if others else "by nothing"
        return [f"{_METRICS}: is empty: clusters are limited {rest}"]
    named = {canonical_metric(name) for name in metrics}
    released = (
        f"{_METRICS}[{name}]: is taken out: clusters may have any amount of it"
        for name in sorted(before)
        if canonical_metric(name) not in named
    )
    amounts = amount_warnings(_METRICS, metrics, before)
    return list(islice(chain(released, amounts), MAX_FAULTS))


def _lifetime(obj: Object, _header: Header) -> object:
    days = at(obj, "spec", "clusterLifetimeDays")
    return None if days is None else f"{days}d"


def _used(obj: Object, _header: Header) -> object:
    """A project quota's usage is one number per project, to be seen in its QuotaUsages."""
    shared = text_at(obj, "spec", "scope") == "secret"
    used = dict_at(obj, "status", "used") if shared else None
    return usage_text(used, dict_at(obj, "spec", "metrics"))


QUOTA = Resource(
    kind="Quota",
    plural="quotas",
    # `quota` is core's short name of ResourceQuota. kubectl expands short names only where no kind
    # has the word as its plural or singular, so a singular here would take it away from core.
    singular="",
    short_names=("squota",),
    schema=Schema(
        Struct(
            doc="A budget for clusters: what they may use, and for how long they may live.",
            fields={"spec": _SPEC, "status": _STATUS},
            required=("spec",),
        )
    ),
    columns=(
        Column(
            "Scope",
            text_cell("spec", "scope"),
            description="Whose clusters share the budget: those of a secret or of a project.",
        ),
        Column(
            "Cluster Lifetime",
            _lifetime,
            description="Days after which a cluster on this quota is deleted.",
        ),
        Column("Used", _used, description="Used and allowed, by metric."),
        AGE,
    ),
    has_status=True,
    server_status=frozenset({"hard", "used", "observedGeneration"}),
    rules=bounded(_rules),
    warnings=_warnings,
    selectable_fields={"spec.scope": lambda obj: text_at(obj, "spec", "scope")},
)
