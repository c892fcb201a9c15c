"""How each metric of `apis.garden.v1beta1.metrics` is counted: one entry for one metric.

Amounts are integers in nanos (value * 10**9), so nothing is ever rounded.
"""

from collections.abc import Callable
from functools import lru_cache

from admission.metering.demand import Demand
from apis.garden.v1beta1.metrics import METRICS, format_of
from apis.meta.quantity import NANOS, Format, text_of
from apis.meta.values import valueclass

_CLASS = "<class>"


@valueclass
class Machine:
    """One machine of a pool with its volume, amounts in nanos."""

    cpu: int
    gpu: int
    memory: int
    volume_class: str
    volume_size: int


@valueclass
class Evaluator:
    """What one metric amounts to, in nanos.

    `per_machine` is multiplied by the machines of a pool, `per_shoot` is for a whole shoot. A
    metric with `<class>` in its name counts for the class of the machine's volume, and not at
    all where there is no volume.
    """

    metric: str
    per_machine: Callable[[Machine], int] | None = None
    per_shoot: Callable[[Demand], int] | None = None


EVALUATORS: tuple[Evaluator, ...] = (
    Evaluator("cpu", per_machine=lambda machine: machine.cpu),
    Evaluator("gpu", per_machine=lambda machine: machine.gpu),
    Evaluator("memory", per_machine=lambda machine: machine.memory),
    Evaluator("storage.<class>", per_machine=lambda machine: machine.volume_size),
    Evaluator("loadbalancer", per_shoot=lambda demand: demand.load_balancers * NANOS),
    Evaluator("machines", per_machine=lambda _machine: NANOS),
    Evaluator("shoots", per_shoot=lambda _demand: NANOS),
)

UNCHARGED = frozenset({"pvc.<class>"})
"""Metrics that only bound what is used inside one cluster; no shoot is charged for them."""

if {e.metric for e in EVALUATORS} | UNCHARGED != {metric.name for metric in METRICS}:
    raise AssertionError("every metric has an evaluator or is declared as uncharged")

_PER_MACHINE = tuple((e.metric, e.per_machine) for e in EVALUATORS if e.per_machine is not None)
_PER_SHOOT = tuple((e.metric, e.per_shoot) for e in EVALUATORS if e.per_shoot is not None)
_PLAIN = tuple((name, measure) for name, measure in _PER_MACHINE if not name.endswith(_CLASS))
_CLASSED = tuple(
    (name.removesuffix(_CLASS), measure) for name, measure in _PER_MACHINE if name.endswith(_CLASS)
)


def _format(metric: str) -> Format:
    return "BinarySI" if format_of(metric) == "BinarySI" else "DecimalSI"


_FORMATS = {e.metric: _format(e.metric) for e in EVALUATORS if not e.metric.endswith(_CLASS)}


def add_machines(totals: dict[str, int], machine: Machine, count: int) -> None:
    """Add what `count` such machines amount to: one multiplication each, however many they are."""
    for name, measure in _PLAIN:
        totals[name] = totals.get(name, 0) + measure(machine) * count
    if machine.volume_class:
        for stem, measure in _CLASSED:
            name = stem + machine.volume_class
            totals[name] = totals.get(name, 0) + measure(machine) * count


def add_shoot(totals: dict[str, int], demand: Demand) -> None:
    """Add what counts once for a shoot, whatever its machines."""
    for name, measure in _PER_SHOOT:
        totals[name] = totals.get(name, 0) + measure(demand)


@lru_cache(maxsize=4096)
def quantity_text(metric: str, amount: int) -> str:
    """The canonical quantity of an amount of the metric. Cached: shoots come in few sizes, and
    writing the texts takes a fifth of the time of a charge."""
    return text_of(amount, _FORMATS.get(metric) or _format(metric))
