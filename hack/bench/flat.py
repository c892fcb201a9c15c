"""Creates per second, and the CPU of one, with ever more shoots on the quota."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from hack.bench import plots, wrk
from hack.bench.installation import Bench, installation
from hack.bench.report import Report, Verdict, picture, table

NAME = "flat"


@dataclass(frozen=True, slots=True)
class Row:
    """One round; `shoots` were on the quota when it began."""

    shoots: int
    per_second: float
    p50_ms: float
    p99_ms: float
    server_cpu_us: float
    """Of one create."""


def measure(bench: Bench) -> list[dict[str, Any]]:
    rows = []
    for _ in range(bench.scale.rounds):
        for shoots in bench.scale.populations:
            row = _round(bench, shoots)
            bench.say(
                f"{shoots:6} shoots: {row.per_second:7.0f}/s  p50 {row.p50_ms:6.1f} ms  "
                f"server {row.server_cpu_us:5.0f} us"
            )
            rows.append(asdict(row))
    return rows


def _round(bench: Bench, shoots: int) -> Row:
    scale, connections = bench.scale, max(bench.scale.connections)
    with installation(bench.populations.data(shoots)) as made:
        if not shoots:
            made.prepare()
        before = made.counters()
        wrk.create(made.server, run="warm", connections=connections, seconds=scale.warm_up)
        cpu = made.server_cpu()
        load = wrk.create(made.server, run="run", connections=connections, seconds=scale.seconds)
        cpu = made.server_cpu() - cpu
        # What the population was made of is audited already.
        made.audit(since=before.revision)
        created = max(load.requests, 1)
        return Row(shoots, load.per_second, load.p50_ms, load.p99_ms, cpu / created * 1e6)


def report(results: Sequence[dict[str, Any]]) -> Report:
    rows = [Row(**row) for row in results]
    populations = sorted({row.shoots for row in rows})
    by = {shoots: [row for row in rows if row.shoots == shoots] for shoots in populations}
    lines = [
        [
            f"{shoots:,}",
            plots.number(median(row.per_second for row in by[shoots])),
            plots.number(median(row.p50_ms for row in by[shoots])),
            plots.number(median(row.p99_ms for row in by[shoots])),
            plots.number(median(row.server_cpu_us for row in by[shoots])),
        ]
        for shoots in populations
    ]
    heading = ("shoots on the quota", "creates/s", "p50 ms", "p99 ms", "server's CPU µs per create")
    text = table(heading, lines)
    chart = plots.Chart(
        "Creates per second by what is on the quota already",
        "creates/s",
        [f"{shoots:,} shoots" for shoots in populations],
        [
            plots.Series(
                "two quotas",
                [median(row.per_second for row in by[shoots]) for shoots in populations],
                spans=[
                    (
                        min(row.per_second for row in by[shoots]),
                        max(row.per_second for row in by[shoots]),
                    )
                    for shoots in populations
                ],
            )
        ],
    )
    text += "\n\n" + picture("flat.svg", "Creates per second by shoots on the quota")
    return Report(text, [_verdict(by, populations)], {"flat.svg": plots.bars(chart)})


def _verdict(by: dict[int, list[Row]], populations: Sequence[int]) -> Verdict:
    """Rounds are compared with their neighbours in time."""
    pairs = zip(by[populations[-1]], by[populations[0]], strict=True)
    ratio = median(full.per_second / empty.per_second for full, empty in pairs)
    return Verdict(
        f"creates/s with {populations[-1]:,} shoots on the quota ÷ with none", 0.9, ratio
    )
