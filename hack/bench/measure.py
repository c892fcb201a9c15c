"""Creates per second of a shoot, and what one create costs etcd and the server.

Every line is measured on a new server and a new etcd, all on this machine: they share its cores
with wrk. At the end of a line the accounts are audited.
"""

import argparse
import asyncio
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from apis.meta.codec import encode
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api
from tests.harness.etcd import assert_exact, counters, running_etcd
from tests.harness.server import GROUP_PATH, ServerProcess

TOKEN = "bench-token"  # noqa: S105 -- of a server that lives for seconds, on loopback
TICKS = os.sysconf("SC_CLK_TCK")
PLENTY = {"cpu": "1G", "memory": "1Ei", "shoots": "1G"}
HEADING = (
    f"{'':9} {'conn':>5} {'creates/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'errors':>7} "
    f"{'proposals/create':>17} {'server CPU us/create':>21}"
)


@dataclass(frozen=True, slots=True)
class Result:
    """`creates` is what etcd holds in the end; errors are answers other than 201, and none at all."""

    creates: int
    seconds: float
    errors: int
    p50_ms: float
    p99_ms: float
    proposals: int
    server_cpu_seconds: float

    @property
    def per_second(self) -> float:
        return self.creates / self.seconds

    def line(self, label: str, connections: int) -> str:
        created = max(self.creates, 1)
        return (
            f"{label:9} {connections:5} {self.per_second:10.0f} {self.p50_ms:8.1f} "
            f"{self.p99_ms:8.1f} {self.errors:7} {self.proposals / created:17.4f} "
            f"{self.server_cpu_seconds / created * 1e6:21.0f}"
        )


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def prepare(server: ServerProcess, *, quota: bool) -> None:
    async with server.client() as session:
        await Api(session).have(
            a_profile(),
            a_quota(name="bench", metrics=PLENTY),
            a_binding(name="bench", quotas=["bench"] if quota else []),
        )


def measure(connections: int, seconds: int, *, quota: bool, audit: bool) -> Result:
    with tempfile.TemporaryDirectory(prefix="quotaapi-bench-") as name:
        directory = Path(name)
        with (
            running_etcd(directory / "etcd") as etcd,
            ServerProcess(
                directory / "server", etcd_servers=etcd.endpoint, tokens={TOKEN: "bench"}
            ) as server,
        ):
            asyncio.run(prepare(server, quota=quota))
            before, cpu = counters(etcd.endpoint), cpu_seconds(server.pid)
            count, duration, errors, p50, p99 = run_wrk(server, connections, seconds)
            cost, cpu = counters(etcd.endpoint) - before, cpu_seconds(server.pid) - cpu
            if audit:
                assert_exact(etcd.endpoint)
            return Result(count - errors, duration, errors, p50, p99, cost.proposals, cpu)


def run_wrk(
    server: ServerProcess, connections: int, seconds: int
) -> tuple[int, float, int, float, float]:
    """(requests, seconds, errors, p50 ms, p99 ms)"""
    body = encode(a_shoot(name="NAME", binding="bench")).decode()
    done = subprocess.run(
        [
            *("wrk", "--threads", "1", "--connections", str(connections)),
            *("--duration", f"{seconds}s", "--timeout", "20s"),
            *("--script", str(Path(__file__).with_name("create.lua"))),
            f"{server.url}{GROUP_PATH}/namespaces/garden-dev/shoots",
        ],
        env=os.environ | {"BODY": body, "RUN": "bench", "TOKEN": TOKEN},
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=True,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    requests, microseconds, refused, lost, p50, p99 = map(int, line.split()[1:])
    return requests, microseconds / 1e6, refused + lost, p50 / 1e3, p99 / 1e3


def main() -> None:
    parser = argparse.ArgumentParser("hack/bench/run", description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="per line (default 10)")
    parser.add_argument("--connections", default="1,20,100")
    parser.add_argument("--rounds", type=int, default=1, help="the median round is told")
    parser.add_argument("--no-audit", action="store_true", help="do not audit at each line's end")
    options = parser.parse_args()
    print(HEADING)
    for connections in map(int, options.connections.split(",")):
        # The two take turns, so that what else the machine does falls on both.
        results: dict[bool, list[Result]] = {False: [], True: []}
        for _ in range(options.rounds):
            for quota, found in results.items():
                found.append(
                    measure(connections, options.seconds, quota=quota, audit=not options.no_audit)
                )
        plain, quotaed = (median(results[quota]) for quota in (False, True))
        print(plain.line("no quota", connections))
        print(quotaed.line("quota", connections))
        ratio = quotaed.per_second / plain.per_second
        print(f"{'':9} {connections:5} quota / no quota: {ratio:.2f}", flush=True)


def median(results: list[Result]) -> Result:
    return sorted(results, key=lambda result: result.per_second)[len(results) // 2]


if __name__ == "__main__":
    main()
