"""GETs per second, LISTs to their last byte, and whether a very long LIST holds up others."""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from statistics import median
from typing import Any, Final

from hack.bench import elsewhere, plots, world, wrk
from hack.bench.installation import LOADED, Bench, Installation, installation
from hack.bench.paced import Pace, percentile, run
from hack.bench.raw import Address, Answer, Connection
from hack.bench.report import Report, Verdict, picture, table

NAME = "reads"

_GET_CONNECTIONS: Final = 50
_PACED_CONNECTIONS: Final = 4
_SHOOTS: Final = f"namespaces/{world.NAMESPACE}/shoots"


def measure(bench: Bench) -> dict[str, Any]:
    scale = bench.scale
    with installation(bench.populations.data(scale.listed)) as made:
        gets = _gets(bench, made)
        bench.say(f"GET: {gets['per_second']:.0f}/s")
        listed = _lists(bench, made)
        bench.say(f"LIST of {scale.listed}: {median(listed['ms']):.0f} ms")
    with installation(bench.populations.data(scale.crowd)) as made:
        crowd = _crowd(bench, made)
        bench.say(f"GETs' p99 beside a LIST of {scale.crowd}: {crowd['p99_ms']:.1f} ms")
    return {"gets": gets, "listed": listed, "crowd": crowd}


def _gets(bench: Bench, made: Installation) -> dict[str, Any]:
    scale = bench.scale
    connections = min(_GET_CONNECTIONS, scale.listed)

    def load(seconds: int) -> wrk.Load:
        return wrk.get(
            made.server, run=LOADED, count=scale.listed, connections=connections, seconds=seconds
        )

    load(scale.warm_up)
    cpu = made.server_cpu()
    loads = [load(scale.seconds) for _ in range(scale.rounds)]
    cpu = made.server_cpu() - cpu
    return {
        "connections": connections,
        "per_second": median(load.per_second for load in loads),
        "p50_ms": median(load.p50_ms for load in loads),
        "p99_ms": median(load.p99_ms for load in loads),
        "server_cpu_us": cpu / max(1, sum(load.requests for load in loads)) * 1e6,
    }


def _lists(bench: Bench, made: Installation) -> dict[str, Any]:
    """Before each LIST a shoot changes, so that none can be answered with the one before."""
    answers = []
    with Connection(Address.of(made.server)) as connection:
        for number in range(bench.scale.lists + 2):
            change = b'{"metadata":{"annotations":{"bench/turn":"%d"}}}' % number
            _ok(connection.patch(f"{_SHOOTS}/{LOADED}-1-1", change))
            answers.append(_ok(connection.get(_SHOOTS)))
    counted = answers[2:]  # the others warm up
    return {
        "shoots": bench.scale.listed,
        "mb": counted[-1].size / 1e6,
        "ms": [answer.last * 1e3 for answer in counted],
        "first_byte_ms": median(answer.first * 1e3 for answer in counted),
    }


def _crowd(bench: Bench, made: Installation) -> dict[str, Any]:
    """GETs at a fixed rate, first alone, then while another process lists everything without pause."""
    scale, address = bench.scale, Address.of(made.server)
    pace = Pace(scale.gets_per_second, max(scale.seconds, 1) * 2, _PACED_CONNECTIONS)

    def get(connection: Connection, number: int, serial: int) -> Answer:
        turn = (number * 37 + serial * 7919) % scale.crowd + 1
        return connection.get(f"{_SHOOTS}/{LOADED}-1-{turn}")

    run(address, replace(pace, seconds=scale.warm_up), get)
    alone = run(address, pace, get).ms
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(1, mp_context=context) as processes:
        started, stopped = manager.Event(), manager.Event()
        listing = processes.submit(_list_until, address, started.set, stopped.is_set)
        while not started.is_set() and not listing.done():
            time.sleep(0.01)  # another process: there is nothing to wait on
        beside = run(address, pace, get).ms
        stopped.set()
        lists = listing.result()
    return {
        "shoots": scale.crowd,
        "gets_per_second": scale.gets_per_second,
        "alone_p99_ms": percentile(alone, 0.99),
        "p50_ms": percentile(beside, 0.5),
        "p99_ms": percentile(beside, 0.99),
        "highest_ms": max(beside),
        "lists": len(lists),
        "list_ms": median(ms for ms, _ in lists),
        "list_mb": lists[-1][1] / 1e6,
    }


def _list_until(
    address: Address, started: Callable[[], None], stopped: Callable[[], bool]
) -> list[tuple[float, int]]:
    """(milliseconds, bytes) of each LIST. The first one warms up and does not count."""
    found: list[tuple[float, int]] = []
    with Connection(address) as connection:
        _ok(connection.get(_SHOOTS))
        started()
        while not found or not stopped():
            answer = _ok(connection.get(_SHOOTS))
            found.append((answer.last * 1e3, answer.size))
    return found


def _ok(answer: Answer) -> Answer:
    if answer.status != 200:
        raise RuntimeError(f"answered with {answer.status}")
    return answer


def report(results: dict[str, Any]) -> Report:
    gets, listed, crowd = results["gets"], results["listed"], results["crowd"]
    list_ms = median(listed["ms"])
    lines = [
        [
            f"GET, {gets['connections']} connections",
            f"{plots.number(gets['per_second'])}/s",
            f"p50 {plots.number(gets['p50_ms'])} ms, p99 {plots.number(gets['p99_ms'])} ms, "
            f"{plots.number(gets['server_cpu_us'])} µs of the server's CPU each",
            f"*{elsewhere.GETS_PER_SECOND:.0f}/s*",
        ],
        [
            f"LIST of {listed['shoots']:,} shoots",
            f"{plots.number(list_ms)} ms",
            f"{listed['mb']:.1f} MB, first byte after {plots.number(listed['first_byte_ms'])} ms, "
            f"slowest {plots.number(max(listed['ms']))} ms",
            f"*{elsewhere.LIST_MS[0]:.0f} to {elsewhere.LIST_MS[1]:.0f} ms for {elsewhere.LISTED:,}, "
            f"{elsewhere.LIST_MB} MB*",
        ],
        [
            f"LIST of {crowd['shoots']:,} shoots, without pause",
            f"{plots.number(crowd['list_ms'])} ms",
            f"{crowd['list_mb']:.0f} MB each",
            "",
        ],
        [
            f"meanwhile {crowd['gets_per_second']} GETs/s",
            f"p99 {plots.number(crowd['p99_ms'])} ms",
            f"p50 {plots.number(crowd['p50_ms'])} ms, slowest {plots.number(crowd['highest_ms'])} ms; "
            f"without the LIST p99 {plots.number(crowd['alone_p99_ms'])} ms",
            "",
        ],
    ]
    text = table(("", "measured", "more of it", elsewhere.NAME), lines)
    text += "\n\n" + picture("reads-gets.svg", "GETs per second")
    text += "\n\n" + picture("reads-lists.svg", "Duration of a LIST")
    return Report(
        text,
        [
            Verdict(f"GETs at {gets['connections']} connections", 2500, gets["per_second"], "/s"),
            Verdict(f"LIST of {listed['shoots']:,} shoots", 60, list_ms, "ms", at_most=True),
            Verdict(
                f"a GET's p99 beside LISTs of {crowd['shoots']:,}",
                20,
                crowd["p99_ms"],
                "ms",
                at_most=True,
            ),
        ],
        {
            "reads-gets.svg": plots.bars(_get_chart(gets)),
            "reads-lists.svg": plots.bars(_list_chart(listed)),
        },
    )


def _get_chart(gets: dict[str, Any]) -> plots.Chart:
    return plots.Chart(
        "GETs per second",
        "GETs/s",
        [f"{gets['connections']} connections"],
        [
            plots.Series("quotaapi", [gets["per_second"]]),
            plots.Series(elsewhere.NAME, [elsewhere.GETS_PER_SECOND], 2),
        ],
        targets=[2500.0],
    )


def _list_chart(listed: dict[str, Any]) -> plots.Chart:
    low, high = elsewhere.LIST_MS
    return plots.Chart(
        "A LIST, to its last byte",
        "ms",
        [f"{listed['shoots']:,} shoots (elsewhere {elsewhere.LISTED:,})"],
        [
            plots.Series(
                "quotaapi",
                [median(listed["ms"])],
                spans=[(min(listed["ms"]), max(listed["ms"]))],
            ),
            plots.Series(elsewhere.NAME, [(low + high) / 2], 2, [elsewhere.LIST_MS]),
        ],
        targets=[60.0],
    )
