"""Bar charts as SVG, readable in light and dark: text in, text out, no library.

A chart brings its own background, so that it can be read on a page of any colour; which of the two
sets of colours it takes follows the reader's preference.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, takewhile

WIDTH = 760
_PLOT_HEIGHT = 220
_LEFT, _RIGHT, _TOP = 64, 20, 74
_ROW, _ROW_LABEL, _ROWS_TOP = 26, 240, 46
_LEGEND_CHARACTER = 6.6
"""Width of a character of the legend, about: nothing measures text here."""

_STYLE = """
.back { fill: #ffffff; stroke: #d0d7de }
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #424a53 }
.title { font-size: 14px; font-weight: 600; fill: #1f2328 }
.value { font-size: 11px; fill: #1f2328; paint-order: stroke; stroke: #ffffff; stroke-width: 3px }
.grid { stroke: #d8dee4; stroke-width: 1 }
.axis { stroke: #6e7781; stroke-width: 1 }
.target { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 5 3 }
.span { stroke: #424a53; stroke-width: 1.5 }
.s0 { fill: #2f6fd0 } .s1 { fill: #86aee8 } .s2 { fill: #a0a7b0 } .s3 { fill: #c98a1b }
@media (prefers-color-scheme: dark) {
.back { fill: #0d1117; stroke: #30363d }
text { fill: #adb6c0 }
.title, .value { fill: #e6edf3 }
.value { stroke: #0d1117 }
.grid { stroke: #262c34 }
.axis { stroke: #7d8590 }
.target { stroke: #ff7b72 }
.span { stroke: #adb6c0 }
.s0 { fill: #4f8ff0 } .s1 { fill: #31588f } .s2 { fill: #6e7781 } .s3 { fill: #d29922 }
}
"""


@dataclass(frozen=True, slots=True)
class Series:
    """One colour: a value per group, None where there is none. `colour`: 0 ours, 1 ours otherwise,
    2 somebody else's, 3 a third. `spans`: the lowest and highest per group, where known."""

    label: str
    values: Sequence[float | None]
    colour: int = 0
    spans: Sequence[tuple[float, float] | None] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars in groups. `targets`: a line per group, None where a group has none."""

    title: str
    axis: str
    groups: Sequence[str]
    series: Sequence[Series]
    targets: Sequence[float | None] = ()
    target_label: str = "target"


def number(value: float) -> str:
    """Short, as a reader wants it: 1,234 or 12.3 or 0.012."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}".removesuffix(".0")


def ticks(highest: float) -> list[float]:
    """From 0 to at least `highest`, four to seven of them, at round numbers."""
    if highest <= 0:
        return [0.0, 1.0]
    raw = highest / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw)
    below = list(takewhile(lambda tick: tick < highest, (step * n for n in count())))
    return [*below, step * len(below)]


def bars(chart: Chart) -> str:
    """Upright bars, side by side within each group."""
    scale = ticks(_highest(chart))
    base = _TOP + _PLOT_HEIGHT
    parts = [*_frame(chart, base + 34), *_upright_axes(chart, scale, base)]
    room = (WIDTH - _LEFT - _RIGHT) / len(chart.groups)
    width = min(room * 0.8 / len(chart.series), 64.0)
    for index, group in enumerate(chart.groups):
        middle = _LEFT + room * (index + 0.5)
        present = [series for series in chart.series if series.values[index] is not None]
        start, end = (middle + width * len(present) / 2 * side for side in (-1, 1))
        for place, series in enumerate(present):
            parts += _bar(series, index, start + width * place, width, scale[-1])
        target = chart.targets[index] if chart.targets else None
        if target is not None:
            y = base - target / scale[-1] * _PLOT_HEIGHT
            parts.append(_line("target", (start - 6, y), (end + 6, y)))
        for place, series in enumerate(present):
            parts.append(_label(series, index, start + width * (place + 0.5), scale[-1]))
        parts.append(_text(middle, base + 18, group, anchor="middle"))
    return _document(parts, base + 34)


def rows(chart: Chart) -> str:
    """Lying bars, one per group, for long names; the first series alone."""
    series = chart.series[0]
    scale = ticks(_highest(chart))
    height = _ROWS_TOP + _ROW * len(chart.groups)
    room = WIDTH - _ROW_LABEL - _RIGHT - 40
    parts = [*_frame(chart, height + 42)]
    for tick in scale:
        x = _ROW_LABEL + tick / scale[-1] * room
        parts += [
            _line("grid", (x, _ROWS_TOP), (x, height)),
            _text(x, height + 16, number(tick), anchor="middle"),
        ]
    parts.append(_text(_ROW_LABEL + room / 2, height + 34, chart.axis, anchor="middle"))
    for index, group in enumerate(chart.groups):
        y = _ROWS_TOP + _ROW * index
        value = series.values[index] or 0.0
        length = value / scale[-1] * room
        parts.append(_text(_ROW_LABEL - 8, y + 17, group, anchor="end"))
        parts.append(_rectangle(series.colour, (_ROW_LABEL, y + 4), (length, _ROW - 8)))
        parts.append(_text(_ROW_LABEL + length + 5, y + 17, number(value), style="value"))
    parts.append(_line("axis", (_ROW_LABEL, _ROWS_TOP), (_ROW_LABEL, height)))
    return _document(parts, height + 42)


def _highest(chart: Chart) -> float:
    values = [value for series in chart.series for value in series.values if value is not None]
    values += [span[1] for series in chart.series for span in series.spans if span is not None]
    values += [target for target in chart.targets if target is not None]
    return max(values, default=0.0)


def _frame(chart: Chart, height: float) -> list[str]:
    """Background, title, legend."""
    parts = [
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        _text(20, 26, chart.title, style="title"),
    ]
    if len(chart.series) == 1 and not any(chart.targets):
        return parts
    x = 20.0
    for series in chart.series:
        parts.append(_rectangle(series.colour, (x, 40), (12, 12)))
        parts.append(_text(x + 17, 50.5, series.label))
        x += 37 + _LEGEND_CHARACTER * len(series.label)
    if any(chart.targets):
        parts.append(_line("target", (x, 46), (x + 20, 46)))
        parts.append(_text(x + 25, 50.5, chart.target_label))
    return parts


def _upright_axes(chart: Chart, scale: Sequence[float], base: float) -> list[str]:
    parts = []
    for tick in scale:
        y = base - tick / scale[-1] * _PLOT_HEIGHT
        parts.append(_line("grid", (_LEFT, y), (WIDTH - _RIGHT, y)))
        parts.append(_text(_LEFT - 8, y + 4, number(tick), anchor="end"))
    middle = base - _PLOT_HEIGHT / 2
    parts.append(
        f'<text text-anchor="middle" transform="translate(16 {middle:.1f}) rotate(-90)">{escape(chart.axis)}</text>'
    )
    parts.append(_line("axis", (_LEFT, base), (WIDTH - _RIGHT, base)))
    return parts


def _bar(series: Series, index: int, x: float, width: float, top: float) -> list[str]:
    """A bar, and between what its value varied."""
    base = _TOP + _PLOT_HEIGHT
    height = (series.values[index] or 0.0) / top * _PLOT_HEIGHT
    parts = [_rectangle(series.colour, (x + 1, base - height), (width - 2, height))]
    span = series.spans[index] if series.spans else None
    if span is not None and span[0] < span[1]:
        middle = x + width / 2
        low, high = (base - end / top * _PLOT_HEIGHT for end in span)
        parts.append(_line("span", (middle, low), (middle, high)))
        parts += [_line("span", (middle - 5, y), (middle + 5, y)) for y in (low, high)]
    return parts


def _label(series: Series, index: int, middle: float, top: float) -> str:
    """A bar's value, above all of it."""
    value = series.values[index] or 0.0
    span = series.spans[index] if series.spans else None
    highest = max(value, span[1]) if span is not None else value
    y = _TOP + _PLOT_HEIGHT - highest / top * _PLOT_HEIGHT
    return _text(middle, y - 5, number(value), anchor="middle", style="value")


def _text(x: float, y: float, text: str, *, anchor: str = "start", style: str = "") -> str:
    styled = f' class="{style}"' if style else ""
    return f'<text{styled} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(style: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    return (
        f'<line class="{style}" x1="{start[0]:.1f}" y1="{start[1]:.1f}" '
        f'x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
    )


def _rectangle(colour: int, corner: tuple[float, float], size: tuple[float, float]) -> str:
    return (
        f'<rect class="s{colour}" x="{corner[0]:.1f}" y="{corner[1]:.1f}" '
        f'width="{max(size[0], 0):.1f}" height="{max(size[1], 0):.1f}"/>'
    )


def _document(parts: Sequence[str], height: float) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" role="img">\n<style>{_STYLE}</style>\n{body}\n</svg>\n'
    )
