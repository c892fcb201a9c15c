"""Sums of metrics, as exact integers of 10^-9, and the words in which a quota refuses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apis.garden.v1beta1.amounts import shown_amount
from apis.garden.v1beta1.metrics import canonical_metric, format_of
from apis.meta.quantity import nanos_of, text_of
from apis.meta.transaction import Charge

Usage = dict[str, int]
"""Canonical metric -> nanos. A missing metric is zero."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One metric of a quota: `shown` as its author named it, `metric` the canonical name."""

    shown: str
    metric: str
    nanos: int


def limits_of(metrics: Mapping[str, str]) -> tuple[Limit, ...]:
    """The limits of a stored quota's `spec.metrics`, by name."""
    found = []
    for shown, quantity in sorted(metrics.items()):
        metric = canonical_metric(shown)
        if metric is None:
            raise ValueError(f"stored quota has the unknown metric {shown!r}")
        found.append(Limit(shown, metric, nanos_of(quantity)))
    return tuple(found)


def decode(charge: Charge | None) -> Usage:
    return {metric: nanos_of(quantity) for metric, quantity in (charge or {}).items()}


def encode(usage: Usage) -> dict[str, str]:
    """Canonical text, zero metrics left out."""
    return {m: text_of(usage[m], format_of(m)) for m in sorted(usage) if usage[m]}


def difference(new: Usage, old: Usage) -> Usage:
    """`new - old`, metrics that stay the same left out."""
    changed = {m: n - old.get(m, 0) for m, n in new.items() if n != old.get(m, 0)}
    changed.update((m, -n) for m, n in old.items() if m not in new and n)
    return changed


def add(usage: Usage, delta: Usage) -> None:
    """Add in place; a metric that reaches zero disappears.

    Raises ValueError where a sum would become negative: a ledger that does not hold what it
    is asked to return is corrupt, and must be neither papered over nor made worse.
    """
    for metric, nanos in delta.items():
        total = usage.get(metric, 0) + nanos
        if total < 0:
            raise ValueError(f"ledger of {metric} would fall below zero")
        if total:
            usage[metric] = total
        else:
            usage.pop(metric, None)


def exceeded(limits: Iterable[Limit], used: Usage, delta: Usage) -> list[Limit]:
    """The limits that `delta` would overstep. Only growth is judged: a metric that is over its
    limit already and shrinks, or stays, passes. Reaching a limit exactly passes."""
    return [
        limit
        for limit in limits
        if (grown := delta.get(limit.metric, 0)) > 0
        and used.get(limit.metric, 0) + grown > limit.nanos
    ]


def refusal(quota: str, over: Iterable[Limit], used: Usage, delta: Usage) -> str:
    """As kube-apiserver's ResourceQuota words it: requested, used, limited, by metric."""
    requested, taken, limited = [], [], []
    for limit in over:
        requested.append(f"{limit.shown}={shown_amount(limit.metric, delta[limit.metric])}")
        taken.append(f"{limit.shown}={shown_amount(limit.metric, used.get(limit.metric, 0))}")
        limited.append(f"{limit.shown}={shown_amount(limit.metric, limit.nanos)}")
    return (
        f"exceeded quota: {quota}, requested: {','.join(requested)}, "
        f"used: {','.join(taken)}, limited: {','.join(limited)}"
    )


def refusals_text(refusals: Iterable[str], exceeded_quotas: Sequence[tuple[str, str]]) -> str:
    """All refusals of one write. `exceeded_quotas`: (namespace, name) of those with a `refusal`.

    Clients take a refusal's words apart, and find them as ResourceQuota's are. Where the quotas lie,
    mostly in another namespace than what is refused, comes after all of them.
    """
    text = "; ".join(refusals)
    if not exceeded_quotas:
        return text
    named = ", ".join(f"{namespace}/{name}" for namespace, name in exceeded_quotas)
    return f"{text} (quota{'s' if len(exceeded_quotas) > 1 else ''} {named})"


def shown(limits: Iterable[Limit], used: Usage) -> dict[str, str]:
    """`status.used`: just the metrics that the quota names, under its names."""
    return {x.shown: text_of(used.get(x.metric, 0), format_of(x.metric)) for x in limits}
