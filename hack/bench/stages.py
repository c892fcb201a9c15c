"""Where a create's CPU time goes in the server, stage by stage.

Two servers take turns: a plain one tells what a create costs, one with a profiler how that is
divided. So the profiler's own cost falls out.
"""

import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, Final

from hack.bench import plots, stacks, wrk
from hack.bench.installation import Bench, installation
from hack.bench.profiled import VARIABLE
from hack.bench.report import Report, picture, table
from tests.harness.server import ROOT

NAME = "stages"

_PROGRAM: Final = ("-m", "hack.bench.profiled")
_SLICE_SECONDS: Final = 3
_ATTEMPTS: Final = 5
"""The profiler reads the frames of a running interpreter, and about once in two thousand samples it
meets one that is half made, which ends the server. So samples are taken in slices, each of a server of
its own; one that did not live is left out, and tried again so often."""


def measure(bench: Bench) -> dict[str, Any]:
    micros, samples = [], Counter[str]()
    for _ in range(bench.scale.rounds):
        micros.append(_cost(bench))
        for _ in range(max(1, round(bench.scale.seconds / _SLICE_SECONDS))):
            samples += _samples(bench)
    bench.say(f"{median(micros):.0f} us per create, {samples.total()} samples")
    return {
        "connections": max(bench.scale.connections),
        "server_cpu_us": median(micros),
        "samples": {stage: samples[stage] for stage in stacks.STAGES},
    }


def _cost(bench: Bench) -> float:
    """Microseconds of the server's CPU for one create."""
    scale, connections = bench.scale, max(bench.scale.connections)
    with installation() as made:
        made.prepare()
        wrk.create(made.server, run="warm", connections=connections, seconds=scale.warm_up)
        cpu = made.server_cpu()
        load = wrk.create(made.server, run="run", connections=connections, seconds=scale.seconds)
        cpu = made.server_cpu() - cpu
    return cpu / max(1, load.requests) * 1e6


def _samples(bench: Bench) -> "Counter[str]":
    """One slice's. Raises as a slice does where none lived."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return _slice(bench)
        except (wrk.LoadError, AssertionError):  # it ended under load, or never became ready
            bench.say("a slice did not live")
    return _slice(bench)


def _slice(bench: Bench) -> "Counter[str]":
    connections = max(bench.scale.connections)
    with tempfile.TemporaryDirectory(prefix="quotaapi-bench-") as directory:
        path = Path(directory) / "stacks"
        with installation(program=_PROGRAM, environment={VARIABLE: str(path)}) as made:
            made.prepare()
            wrk.create(made.server, run="warm", connections=connections, seconds=1)
            begin = path.stat().st_size
            wrk.create(made.server, run="run", connections=connections, seconds=_SLICE_SECONDS)
            end = path.stat().st_size
        text = path.read_bytes()[begin:end].decode(errors="replace")
    return stacks.count(text.splitlines(), str(ROOT))


def report(results: dict[str, Any]) -> Report:
    samples: dict[str, int] = results["samples"]
    total = max(1, sum(samples.values()))
    whole: float = results["server_cpu_us"]
    micros = {stage: count / total * whole for stage, count in samples.items()}
    lines = [
        [stage, plots.number(micros[stage]), f"{count / total:.1%}"]
        for stage, count in samples.items()
    ]
    lines.append(["**together**", f"**{plots.number(whole)}**", f"{total:,} samples"])
    chart = plots.Chart(
        f"A create's CPU time in the server, {results['connections']} connections, two quotas",
        "µs per create",
        list(micros),
        [plots.Series("", list(micros.values()))],
    )
    text = table(("stage", "CPU µs per create", "share"), lines)
    text += "\n\n" + picture("stages.svg", "A create's CPU time by stage")
    return Report(text, (), {"stages.svg": plots.rows(chart)})
