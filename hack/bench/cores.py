"""One worker process and two: GETs, and creates of many projects, each on quotas of its own."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

from hack.bench import plots, world, wrk
from hack.bench.installation import LOADED, Bench, Installation, installation
from hack.bench.report import Report, Verdict, picture, table

NAME = "cores"

_WORKERS: Final = (1, 2)
_GET_CONNECTIONS: Final = 50
_PROJECTS: Final = 50
"""Whose requests every worker gets: a connection is not a project's."""


@dataclass(frozen=True, slots=True)
class Row:
    """One round. `..._cores`: how many of them a process, with its workers, kept busy."""

    workers: int
    gets_per_second: float
    gets_server_cores: float
    creates_per_second: float
    creates_p50_ms: float
    creates_server_cores: float
    creates_etcd_cores: float
    failed_compares: int


def measure(bench: Bench) -> list[dict[str, Any]]:
    rows = []
    for _ in range(bench.scale.rounds):
        for workers in _WORKERS:
            row = _round(bench, workers)
            bench.say(
                f"{workers} worker(s): {row.gets_per_second:.0f} GETs/s, "
                f"{row.creates_per_second:.0f} creates/s"
            )
            rows.append(asdict(row))
    return rows


def _round(bench: Bench, workers: int) -> Row:
    scale = bench.scale
    arguments = ("--workers", str(workers))
    with installation(bench.populations.data(scale.listed), arguments=arguments) as made:
        before = made.counters()
        made.with_api(lambda api: world.prepare_projects(api, _PROJECTS))
        connections = min(_GET_CONNECTIONS, scale.listed)
        _get(bench, made, connections, scale.warm_up)
        gets_cpu = made.server_cpu()
        gets = _get(bench, made, connections, scale.seconds)
        gets_cpu = made.server_cpu() - gets_cpu
        _create(bench, made, "warm", scale.warm_up)
        failed = made.metric("quotaapi_etcd_failed_compares_total")
        server_cpu, etcd_cpu = made.server_cpu(), made.etcd_cpu()
        creates = _create(bench, made, "run", scale.seconds)
        server_cpu, etcd_cpu = made.server_cpu() - server_cpu, made.etcd_cpu() - etcd_cpu
        failed = made.metric("quotaapi_etcd_failed_compares_total") - failed
        made.audit(since=before.revision)
    return Row(
        workers=workers,
        gets_per_second=gets.per_second,
        gets_server_cores=gets_cpu / gets.seconds,
        creates_per_second=creates.per_second,
        creates_p50_ms=creates.p50_ms,
        creates_server_cores=server_cpu / creates.seconds,
        creates_etcd_cores=etcd_cpu / creates.seconds,
        failed_compares=int(failed),
    )


def _get(bench: Bench, made: Installation, connections: int, seconds: int) -> wrk.Load:
    return wrk.get(
        made.server,
        run=LOADED,
        count=bench.scale.listed,
        connections=connections,
        seconds=seconds,
    )


def _create(bench: Bench, made: Installation, run: str, seconds: int) -> wrk.Load:
    return wrk.create(
        made.server,
        run=run,
        connections=max(bench.scale.connections),
        seconds=seconds,
        namespaces=tuple(map(world.project, range(_PROJECTS))),
    )


def report(results: Sequence[dict[str, Any]]) -> Report:
    rows = [Row(**row) for row in results]

    def middle(workers: int, value: Callable[[Row], float]) -> float:
        return median(value(row) for row in rows if row.workers == workers)

    def doubled(value: Callable[[Row], float]) -> float:
        """What the second worker made of it, of neighbours in time."""
        one, two = ([value(row) for row in rows if row.workers == n] for n in _WORKERS)
        return median(more / less for less, more in zip(one, two, strict=True))

    columns: Sequence[tuple[str, Callable[[Row], float]]] = (
        ("GETs/s", lambda row: row.gets_per_second),
        ("cores busy: server", lambda row: row.gets_server_cores),
        ("creates/s", lambda row: row.creates_per_second),
        ("p50 ms", lambda row: row.creates_p50_ms),
        ("cores busy: server", lambda row: row.creates_server_cores),
        ("etcd", lambda row: row.creates_etcd_cores),
        ("failed compares", lambda row: row.failed_compares),
    )
    lines = [
        [str(workers), *(plots.number(middle(workers, value)) for _, value in columns)]
        for workers in _WORKERS
    ]
    text = table(("workers", *(heading for heading, _ in columns)), lines)
    text += "\n\n" + picture("cores.svg", "Requests per second by workers")
    chart = plots.Chart(
        "Requests per second by worker processes",
        "per second",
        ["GETs", "creates on different quotas"],
        [
            plots.Series(
                f"{workers} worker{'s' * (workers > 1)}",
                [middle(workers, value) for _, value in (columns[0], columns[2])],
                colour=1 if workers == 1 else 0,
            )
            for workers in _WORKERS
        ],
    )
    cores = len(os.sched_getaffinity(0))
    verdicts = [
        Verdict(
            f"GETs/s with 2 workers ÷ with 1 ({cores} cores for all)",
            1.0,
            doubled(lambda row: row.gets_per_second),
        ),
        Verdict(
            f"creates/s with 2 workers ÷ with 1 ({cores} cores for all)",
            1.0,
            doubled(lambda row: row.creates_per_second),
        ),
    ]
    return Report(text, verdicts, {"cores.svg": plots.bars(chart)})
