"""wrk as the load: many connections kept busy by one thread of C.

wrk is a closed loop: a connection sends when it has its answer. It makes up for the requests that
a slow answer held back (any that took more than twice the mean counts as those that would have
followed it), so its percentiles do not profit from a server that stalls.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hack.bench import world
from tests.harness.server import GROUP_PATH, ServerProcess

TOKEN = "bench-token"  # noqa: S105 -- of a server that lives for seconds, on loopback


class LoadError(Exception):
    """Not everything succeeded, or nothing was answered."""


@dataclass(frozen=True, slots=True)
class Load:
    """What was answered, all of it with success."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def create(
    server: ServerProcess,
    *,
    run: str,
    connections: int,
    seconds: int,
    limit: int = 0,
    namespaces: tuple[str, ...] = (world.NAMESPACE,),
) -> Load:
    """Create shoots named `run`-1-1 and so on, for so long, or until so many are answered."""
    variables = {"BODY": world.template(), "NAMESPACES": " ".join(namespaces), "LIMIT": str(limit)}
    return _run(server, "create.lua", connections, seconds, variables | {"RUN": run})


def get(server: ServerProcess, *, run: str, count: int, connections: int, seconds: int) -> Load:
    """Read the first `count` shoots of a `create`."""
    variables = {"COUNT": str(count), "NAMESPACES": world.NAMESPACE, "RUN": run}
    return _run(server, "get.lua", connections, seconds, variables)


def _run(
    server: ServerProcess,
    script: str,
    connections: int,
    seconds: int,
    variables: Mapping[str, str],
) -> Load:
    done = subprocess.run(
        [
            *("wrk", "--threads", "1", "--connections", str(connections)),
            *("--duration", f"{seconds}s", "--timeout", "20s"),
            *("--script", str(Path(__file__).with_name(script))),
            f"{server.url}{GROUP_PATH}",
        ],
        env=os.environ | variables | {"TOKEN": TOKEN},
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
    if done.returncode:
        raise LoadError(f"{script}: {done.stderr.strip() or done.stdout.strip()}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    requests, microseconds, refused, lost, p50, p99 = map(int, line.split()[1:])
    if refused or lost:
        # Errors are quicker than work: what would be measured is something else.
        raise LoadError(f"{script}: {refused} of {requests} were refused, {lost} got no answer")
    if not requests:
        raise LoadError(f"{script}: nothing was answered within {seconds} s")
    return Load(requests, microseconds / 1e6, p50 / 1e3, p99 / 1e3)
