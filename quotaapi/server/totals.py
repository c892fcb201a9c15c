"""The numbers of all workers as those of one server. Pure.

Counters must never fall, or who reads them takes it for a restart and counts everything once more.
So what a worker last told counts on when it is late, and when it has ended: its successor begins
at zero and is added. What a crashed worker counted after it was last asked is lost with it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from quotaapi.endpoints.metrics import Family, Labels

Samples = dict[Labels, float]
Told = dict[str, Family]

_FOLDS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "sum": lambda one, other: one + other,
    "max": max,
    "min": min,
}


class Totals:
    """`heard` what a worker tells, `ended` when its process has; `families` is everything together."""

    def __init__(self) -> None:
        self._living: dict[int, Told] = {}
        self._ended: Told = {}

    def heard(self, worker: int, families: Sequence[Family]) -> None:
        self._living[worker] = {family.name: family for family in families}

    def ended(self, worker: int) -> None:
        told = self._living.pop(worker, {}).values()
        counters = [family for family in told if family.kind == "counter"]
        self._ended = fold([*self._ended.values(), *counters])

    def families(self, answered: Iterable[int]) -> list[Family]:
        """Gauges are those of the workers that `answered` just now, counters are everybody's."""
        present = set(answered)
        parts: list[Family] = list(self._ended.values())
        for worker, told in sorted(self._living.items()):
            parts += [f for f in told.values() if f.kind == "counter" or worker in present]
        return list(fold(parts).values())

    def of_one(self, worker: int, name: str) -> float:
        """All samples of one living worker's counter together."""
        family = self._living.get(worker, {}).get(name)
        return sum(family.samples.values()) if family is not None else 0.0


def fold(families: Iterable[Family]) -> Told:
    """One family of each name, in the order of their first appearance."""
    folded: Told = {}
    for family in families:
        known = folded.get(family.name)
        folded[family.name] = family if known is None else _together(known, family)
    return folded


def _together(one: Family, other: Family) -> Family:
    combine = _FOLDS[one.together]
    samples = dict(one.samples)
    for labels, value in other.samples.items():
        samples[labels] = combine(samples[labels], value) if labels in samples else value
    return replace(one, samples=samples)


def to_wire(families: Iterable[Family]) -> list[Any]:
    return [
        [
            f.name,
            f.kind,
            f.help,
            f.together,
            [[labels, value] for labels, value in f.samples.items()],
        ]
        for f in families
    ]


def from_wire(told: Iterable[Any]) -> list[Family]:
    return [
        Family(name, kind, text, _samples(samples), together)
        for name, kind, text, together, samples in told
    ]


def _samples(told: Iterable[Any]) -> Samples:
    return {tuple((name, text) for name, text in labels): value for labels, value in told}
