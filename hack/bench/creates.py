"""Creates per second, with two quotas and with none, and what one create costs."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from hack.bench import elsewhere, plots, wrk
from hack.bench.installation import Bench, installation
from hack.bench.report import Report, Verdict, picture, table

NAME = "creates"

_RATES = {1: 250.0, 100: 1200.0}
_P50_MS = {1: 4.0, 100: 90.0}
_P99_MS = {100: 250.0}
"""Targets, by connections."""


@dataclass(frozen=True, slots=True)
class Row:
    """One round on a new server and a new etcd."""

    connections: int
    quota: bool
    creates: int
    seconds: float
    p50_ms: float
    p99_ms: float
    proposals: int
    failed_compares: int
    server_cpu_seconds: float
    etcd_cpu_seconds: float

    @property
    def per_second(self) -> float:
        return self.creates / self.seconds

    @property
    def per_create(self) -> "Costs":
        created = max(self.creates, 1)
        return Costs(
            self.proposals / created,
            self.server_cpu_seconds / created * 1e6,
            self.etcd_cpu_seconds / created * 1e6,
        )


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one create; CPU in microseconds."""

    proposals: float
    server: float
    etcd: float


def measure(bench: Bench) -> list[dict[str, Any]]:
    """With and without take turns, so that what else the machine does falls on both."""
    rows = []
    for connections in bench.scale.connections:
        for number in range(bench.scale.rounds):
            for quota in (False, True) if number % 2 else (True, False):
                row = _round(bench, connections, quota=quota)
                bench.say(
                    f"{connections:4} connections, {'two quotas' if quota else 'no quota  '}: "
                    f"{row.per_second:7.0f}/s  p50 {row.p50_ms:6.1f}  p99 {row.p99_ms:6.1f} ms  "
                    f"server {row.per_create.server:5.0f} us"
                )
                rows.append(asdict(row))
    return rows


def _round(bench: Bench, connections: int, *, quota: bool) -> Row:
    with installation() as made:
        made.prepare(quota=quota)
        wrk.create(made.server, run="warm", connections=connections, seconds=bench.scale.warm_up)
        before, failed = made.counters(), made.metric("quotaapi_etcd_failed_compares_total")
        server_cpu, etcd_cpu = made.server_cpu(), made.etcd_cpu()
        load = wrk.create(
            made.server, run="run", connections=connections, seconds=bench.scale.seconds
        )
        server_cpu, etcd_cpu = made.server_cpu() - server_cpu, made.etcd_cpu() - etcd_cpu
        cost = made.counters() - before
        failed = made.metric("quotaapi_etcd_failed_compares_total") - failed
        made.audit()
        return Row(
            connections=connections,
            quota=quota,
            creates=load.requests,
            seconds=load.seconds,
            p50_ms=load.p50_ms,
            p99_ms=load.p99_ms,
            proposals=cost.proposals,
            failed_compares=int(failed),
            server_cpu_seconds=server_cpu,
            etcd_cpu_seconds=etcd_cpu,
        )


def report(results: Sequence[dict[str, Any]]) -> Report:
    rows = [Row(**row) for row in results]
    levels = sorted({row.connections for row in rows})
    pictures = {
        "creates-throughput.svg": _throughput(rows, levels),
        "creates-latency.svg": _latency(rows, levels),
    }
    parts = [
        _table(rows, levels),
        picture("creates-throughput.svg", "Creates per second by connections"),
        picture("creates-latency.svg", "Median latency of a create by connections"),
    ]
    return Report("\n\n".join(parts), _verdicts(rows, levels), pictures)


def of(rows: Sequence[Row], connections: int, *, quota: bool) -> list[Row]:
    return [row for row in rows if row.connections == connections and row.quota == quota]


def middle(rows: Sequence[Row], value: Callable[[Row], float]) -> float:
    return median(map(value, rows))


def ratio(rows: Sequence[Row], connections: int) -> float:
    """Of neighbours in time, the median."""
    pairs = zip(of(rows, connections, quota=True), of(rows, connections, quota=False), strict=True)
    return median(quotaed.per_second / plain.per_second for quotaed, plain in pairs)


def _table(rows: Sequence[Row], levels: Sequence[int]) -> str:
    lines = []
    for connections in levels:
        for quota in (False, True):
            found = of(rows, connections, quota=quota)
            lines.append(
                [
                    f"{connections} connection{'s' * (connections > 1)}, {'two quotas' if quota else 'none'}",
                    *(
                        plots.number(middle(found, value))
                        for value in (
                            lambda row: row.per_second,
                            lambda row: row.p50_ms,
                            lambda row: row.p99_ms,
                        )
                    ),
                    plots.number(ratio(rows, connections)) if quota else "",
                    f"{middle(found, lambda row: row.per_create.proposals):.4f}",
                    str(sum(row.failed_compares for row in found)),
                    plots.number(middle(found, lambda row: row.per_create.server)),
                    plots.number(middle(found, lambda row: row.per_create.etcd)),
                ]
            )
    heading = (
        "", "creates/s", "p50 ms", "p99 ms", "quota ÷ none", "proposals per create",
        "failed compares", "server's CPU µs", "etcd's CPU µs",
    )  # fmt: skip
    return table(heading, [*lines, *elsewhere.create_lines()])


def _throughput(rows: Sequence[Row], levels: Sequence[int]) -> str:
    def rates(*, quota: bool) -> plots.Series:
        found = [[row.per_second for row in of(rows, level, quota=quota)] for level in levels]
        return plots.Series(
            "two quotas" if quota else "no quota",
            [median(rates) for rates in found],
            colour=0 if quota else 1,
            spans=[(min(rates), max(rates)) for rates in found],
        )

    known = [elsewhere.CREATES.get(level) for level in levels]
    other = plots.Series(
        elsewhere.NAME,
        [entry.per_second if entry else None for entry in known],
        colour=2,
        spans=[(entry.lowest, entry.highest) if entry else None for entry in known],
    )
    chart = plots.Chart(
        "Creates per second",
        "creates/s",
        _groups(levels),
        [rates(quota=True), rates(quota=False), other],
        targets=[_RATES.get(level) for level in levels],
        target_label="target with quotas",
    )
    return plots.bars(chart)


def _latency(rows: Sequence[Row], levels: Sequence[int]) -> str:
    def series(label: str, colour: int, value: Callable[[Row], float]) -> plots.Series:
        return plots.Series(
            label, [middle(of(rows, level, quota=True), value) for level in levels], colour
        )

    known = [elsewhere.CREATES.get(level) for level in levels]
    chart = plots.Chart(
        "Latency of a create with two quotas",
        "ms",
        _groups(levels),
        [
            series("p50", 0, lambda row: row.p50_ms),
            series("p99", 1, lambda row: row.p99_ms),
            plots.Series(f"{elsewhere.NAME}: p50", [k.p50_ms if k else None for k in known], 2),
        ],
        targets=[_P50_MS.get(level) for level in levels],
        target_label="target of p50",
    )
    return plots.bars(chart)


def _groups(levels: Sequence[int]) -> list[str]:
    return [f"{level} connection{'s' * (level > 1)}" for level in levels]


def _verdicts(rows: Sequence[Row], levels: Sequence[int]) -> list[Verdict]:
    found = []
    for level in levels:
        quotaed = of(rows, level, quota=True)
        where = f"at {level} connection{'s' * (level > 1)}"
        if level in _RATES:
            rate = middle(quotaed, lambda row: row.per_second)
            p50 = middle(quotaed, lambda row: row.p50_ms)
            found += [
                Verdict(f"creates under two quotas, {where}", _RATES[level], rate, "/s"),
                Verdict(f"their median latency, {where}", _P50_MS[level], p50, "ms", at_most=True),
            ]
        if level in _P99_MS:
            p99 = middle(quotaed, lambda row: row.p99_ms)
            proposals = middle(quotaed, lambda row: row.per_create.proposals)
            found += [
                Verdict(f"their p99, {where}", _P99_MS[level], p99, "ms", at_most=True),
                Verdict(f"etcd proposals per create, {where}", 0.03, proposals, at_most=True),
            ]
        found.append(Verdict(f"quota ÷ no quota, {where}", 0.9, ratio(rows, level)))
    failed = sum(row.failed_compares for row in rows)
    return [*found, Verdict("failed compares, in all rounds", 0, failed, at_most=True)]
