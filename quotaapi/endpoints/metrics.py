"""/metrics in Prometheus' text format. The numbers come from `statistics()` of those who count."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from quotaapi.endpoints import respond
from quotaapi.endpoints.exchange import Exchange, Handler

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: `kind` is counter or gauge; samples by their labels."""

    name: str
    kind: str
    help: str
    samples: Mapping[Labels, float]


Source = Callable[[], Sequence[Family]]


def gauge(name: str, text: str, value: float) -> Family:
    return Family(name, "gauge", text, {(): value})


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


def page(sources: Sequence[Source]) -> Handler:
    async def answer(exchange: Exchange) -> web.StreamResponse:
        families = [family for source in sources for family in source()]
        body = render(families).encode()
        return respond.raw(exchange, body, content_type=CONTENT_TYPE)

    return answer
