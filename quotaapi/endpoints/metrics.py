"""/metrics in Prometheus' text format. The numbers come from `statistics()` of those who count."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from aiohttp import web

from quotaapi.endpoints import respond
from quotaapi.endpoints.exchange import Exchange, Handler

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]

Together = Literal["sum", "max", "min"]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: `kind` is counter or gauge; samples by their labels.

    `together`: what several workers' values are as one server's. Where all of them measure the
    same thing, it is not the sum, but the one that an operator must know of.
    """

    name: str
    kind: str
    help: str
    samples: Mapping[Labels, float]
    together: Together = "sum"


Source = Callable[[], Sequence[Family]]

Gather = Callable[[], Awaitable[Sequence[Family]]]
"""The whole server's numbers, which other processes may have to be asked for."""


def gauge(name: str, text: str, value: float, *, together: Together = "sum") -> Family:
    return Family(name, "gauge", text, {(): value}, together)


def counter(name: str, text: str, value: float) -> Family:
    return Family(name, "counter", text, {(): value})


def render(families: Sequence[Family]) -> str:
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {_escaped(family.help)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines += [
            f"{family.name}{_labels(labels)} {_number(value)}"
            for labels, value in sorted(family.samples.items())
        ]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def all_of(sources: Sequence[Source]) -> Source:
    def families() -> Sequence[Family]:
        return [family for source in sources for family in source()]

    return families


def page(sources: Sequence[Source], gather: Gather | None = None) -> Handler:
    """`gather` where the sources are not the whole server's."""
    own = all_of(sources)

    async def answer(exchange: Exchange) -> web.StreamResponse:
        families = own() if gather is None else await gather()
        return respond.raw(exchange, render(families).encode(), content_type=CONTENT_TYPE)

    return answer
