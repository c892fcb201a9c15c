"""What several kinds share: readers that take any JSON, references, conditions, columns.

Defaults run before validation and rules beside it, on whatever a client sent: they read through
`at`, `text_at`, `dict_at` and `list_at`, which answer with nothing where a value is of another
type. Naming the wrong type is the schema's part.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from apis.garden.v1beta1.amounts import readable
from apis.garden.v1beta1.metrics import KNOWN, canonical_metric
from apis.meta import fields
from apis.meta.fields import FieldError
from apis.meta.resource import Column
from apis.meta.structure import (
    MAX_FAULTS,
    Format,
    Integer,
    ListOf,
    ListType,
    MapOf,
    QuantityText,
    String,
    Struct,
)
from apis.meta.transaction import Header, Object

MAX_METRICS = 256
"""Metrics of one quota or limit: more than there are volume classes, few enough to sum."""


def at(obj: object, *path: str) -> Any:
    """What stands at `path`, or None where the path does not lead through objects."""
    for step in path:
        if type(obj) is not dict:
            return None
        obj = obj.get(step)
    return obj


def text_at(obj: object, *path: str) -> str:
    found = at(obj, *path)
    return found if type(found) is str else ""


def dict_at(obj: object, *path: str) -> Mapping[str, Any]:
    found = at(obj, *path)
    return found if type(found) is dict else {}


def list_at(obj: object, *path: str) -> list[Any]:
    found = at(obj, *path)
    return found if type(found) is list else []


def bounded(
    rules: Callable[[Object, Object | None], Iterable[FieldError]],
) -> Callable[[Object, Object | None], list[FieldError]]:
    """A kind's rules from a generator of faults, of which no more than MAX_FAULTS are sought."""
    return lambda new, old: list(islice(rules(new, old), MAX_FAULTS))


# References


def object_name(doc: str, *, immutable: bool = False) -> String:
    """The name of another object: a part of its key, hence never anything but a valid name."""
    return String(doc=doc, format=Format.DNS_SUBDOMAIN, immutable=immutable)


def namespace_name(doc: str) -> String:
    return String(doc=doc, format=Format.DNS_LABEL)


def reference_namespace(reference: object, namespace: str) -> None:
    """Fill in an empty namespace of a reference in place: the referring object's own."""
    if type(reference) is dict and namespace and reference.get("namespace") in (None, ""):
        reference["namespace"] = namespace


def own_namespace(obj: Object) -> str:
    return text_at(obj, "metadata", "namespace")


# Metrics


def metric_quantities(doc: str, *, minimum: str = "0") -> MapOf:
    """Metric name -> quantity."""
    value = QuantityText(
        minimum=minimum,
        doc="an amount of the metric",
        instead_of_null="null is no amount: write 0 for none, or leave it out for no limit",
    )
    return MapOf(doc=doc, values=value, max_properties=MAX_METRICS)


def metric_name_errors(
    path: str, metrics: Mapping[str, Any], known: tuple[str, ...] = KNOWN
) -> Iterator[FieldError]:
    """Names that nobody counts, and the second of two names of one metric.

    `known` are the names to accept, classes written as `<class>`.
    """
    first: dict[str, str] = {}
    for name, value in metrics.items():
        canonical = canonical_metric(name)
        if canonical is None or not is_known(name, known):
            yield fields.not_supported(f"{path}[{name}]", name, known)
        elif canonical in first:
            detail = f"is the same metric as {first[canonical]}: only one of the two may be given"
            yield fields.invalid(f"{path}[{name}]", value, detail)
        else:
            first[canonical] = name


def is_known(name: str, known: tuple[str, ...]) -> bool:
    """Whether `known`, with classes written as `<class>`, has the name."""
    return name in known or f"{name.partition('.')[0]}.<class>" in known


# Conditions


def conditions(doc: str) -> ListOf:
    """`metav1.Condition`s, one per type."""
    condition = Struct(
        doc="one aspect of the state, as a controller sees it",
        fields={
            "type": String(
                doc="what the condition is about, in CamelCase or example.com/CamelCase",
                pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                max_length=316,
            ),
            "status": String(doc="True, False or Unknown", enum=("True", "False", "Unknown")),
            "observedGeneration": Integer(doc="the generation that was judged", minimum=0),
            "lastTransitionTime": String(
                doc="when the status last changed", format=Format.DATE_TIME
            ),
            "reason": String(
                doc="why, in one word of CamelCase",
                pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                min_length=1,
                max_length=1024,
            ),
            "message": String(doc="why, for people", max_length=32768),
        },
        required=("type", "status", "lastTransitionTime", "reason", "message"),
    )
    return ListOf(doc=doc, items=condition, semantics=ListType.MAP, keys=("type",))


# Columns


def text_cell(*path: str) -> Callable[[Object, Header], object]:
    """A cell with the text or number at `path`; empty where there is none."""

    def cell(obj: Object, _header: Header) -> object:
        found = at(obj, *path)
        return found if type(found) in (str, int) else None

    return cell


AGE = Column(
    "Age",
    text_cell("metadata", "creationTimestamp"),
    type="date",
    description="Time since the object was created.",
)


def amounts_text(amounts: Mapping[str, Any]) -> str:
    """`cpu: 18, memory: 72Gi`, by name."""
    return ", ".join(f"{name}: {readable(name, amounts[name])}" for name in sorted(amounts))


def usage_text(used: Mapping[str, Any] | None, hard: Mapping[str, Any]) -> str:
    """`cpu: 18/20, memory: 72Gi/400Gi`, by name; a dash where usage is not one number."""

    def taken(name: str) -> str:
        return "-" if used is None else readable(name, used.get(name, "0"))

    return ", ".join(f"{name}: {taken(name)}/{readable(name, hard[name])}" for name in sorted(hard))
