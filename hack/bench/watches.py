"""How long after a write was sent a thousand watchers have its event."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any, Final

from apis.meta.codec import decode_json, encode
from hack.bench import plots, world
from hack.bench.installation import Bench, Installation, installation
from hack.bench.paced import Pace, percentile, run
from hack.bench.raw import Address, Answer, Connection
from hack.bench.report import Report, Verdict, table
from tests.builders import a_quota
from tests.harness.api import Api
from tests.harness.server import ROOT

NAME = "watches"

_WRITERS: Final = 40
"""Connections, each with an object of its own; the rate is spread over them."""
_NAMESPACE: Final = "garden-watched"
_PATH: Final = f"namespaces/{_NAMESPACE}/quotas"
_GRACE_SECONDS: Final = 30.0


def measure(bench: Bench) -> dict[str, Any]:
    with installation() as made:
        made.with_api(_prepare)
        _round(bench, made, seconds=bench.scale.warm_up)
        found = _round(bench, made, seconds=bench.scale.seconds)
        bench.say(
            f"{found['watchers']} watchers, {found['written']:.0f} events/s: p99 {found['p99_ms']:.0f} ms"
        )
        return found


async def _prepare(api: Api) -> None:
    await api.have(
        *(
            a_quota(name=f"watched-{number}", namespace=_NAMESPACE, metrics=world.PLENTY)
            for number in range(_WRITERS)
        )
    )


def _round(bench: Bench, made: Installation, *, seconds: int) -> dict[str, Any]:
    scale, address = bench.scale, Address.of(made.server)
    pace = Pace(scale.events_per_second, seconds, _WRITERS)
    events = _WRITERS * (1 + max(1, round(pace.per_second * seconds / _WRITERS)))
    settings = {
        "port": address.port,
        "authority": str(address.authority),
        "path": f"{_PATH}?watch=true&resourceVersion={_version(made)}",
        "watchers": scale.watchers,
        "events": events,
    }
    with _client(settings) as client:
        cpu = made.server_cpu()
        writes = run(address, pace, _write)
        answer = client.communicate(timeout=_GRACE_SECONDS)[0]
        cpu = made.server_cpu() - cpu
    result = decode_json(answer.splitlines()[-1]).value
    delays = result["delays_ms"]
    return {
        "watchers": scale.watchers,
        "wanted": scale.events_per_second,
        "written": writes.per_second,
        "lost": events * scale.watchers - result["events"],
        "deliveries": len(delays),
        "p50_ms": percentile(delays, 0.5),
        "p99_ms": percentile(delays, 0.99),
        "highest_ms": max(delays),
        "write_p50_ms": median(writes.ms),
        "server_cpu_us": cpu / max(1, result["events"]) * 1e6,
        "event_bytes": _event_bytes(made),
    }


def _write(connection: Connection, number: int, serial: int) -> Answer:
    del serial
    body = b'{"metadata":{"annotations":{"bench/sent":"%d"}}}' % time.monotonic_ns()
    return connection.patch(f"{_PATH}/watched-{number}", body)


@contextmanager
def _client(settings: dict[str, Any]) -> Iterator["subprocess.Popen[bytes]"]:
    """The watchers, all of them connected."""
    with subprocess.Popen(
        [sys.executable, "-m", "hack.bench.watch_client"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as client:
        try:
            if client.stdin is None or client.stdout is None:
                raise RuntimeError("no pipes")
            client.stdin.write(encode(settings) + b"\n")
            client.stdin.flush()
            if client.stdout.readline() != b"ready\n":
                raise RuntimeError("the watchers did not get ready")
            yield client
        finally:
            client.kill()


def _version(made: Installation) -> str:
    version: str = made.server.request("GET", _PATH).json()["metadata"]["resourceVersion"]
    return version


def _event_bytes(made: Installation) -> int:
    """Of one event's line, about."""
    return len(made.server.request("GET", f"{_PATH}/watched-0").content) + len(
        '{"type":"MODIFIED","object":}\n'
    )


def report(results: dict[str, Any]) -> Report:
    found = results
    lines = [
        ("watchers", f"{found['watchers']:,}"),
        (
            "events written",
            f"{plots.number(found['written'])} per second, {found['event_bytes']:,} bytes each",
        ),
        ("deliveries that never came", f"{found['lost']}"),
        ("delay, median", f"{plots.number(found['p50_ms'])} ms"),
        ("delay, p99", f"{plots.number(found['p99_ms'])} ms"),
        ("delay, longest", f"{plots.number(found['highest_ms'])} ms"),
        ("answer to the write, median", f"{plots.number(found['write_p50_ms'])} ms"),
        ("server's CPU per delivery", f"{plots.number(found['server_cpu_us'])} µs"),
    ]
    return Report(
        table(("", ""), lines),
        [
            Verdict(
                f"events written while {found['watchers']:,} watch",
                found["wanted"] * 0.95,
                found["written"],
                "/s",
            ),
            Verdict(
                "p99 from a write being sent to a watcher having it",
                200,
                found["p99_ms"],
                "ms",
                at_most=True,
            ),
        ],
    )
