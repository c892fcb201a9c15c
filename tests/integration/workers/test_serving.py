"""Two workers serve one port, as one server."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api
from tests.harness.burst import CREATES, ROOM, burst, split
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess
from tests.integration.workers.processes import (
    Numbers,
    all_ready,
    children,
    is_worker,
    numbers,
    numbers_when,
    workers,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def two(tmp_path: Path, own_etcd_url: str) -> Iterator[ServerProcess]:
    arguments = ["--workers", "2"]
    with ServerProcess(tmp_path / "data", etcd_servers=own_etcd_url, arguments=arguments) as server:
        numbers_when(server, all_ready, 30.0)
        yield server


def per_worker(found: Numbers, name: str) -> list[float]:
    return [found[f'quotaapi_worker_{name}{{worker="{number}"}}'] for number in range(2)]


async def test_connections_are_dealt_out_evenly_and_a_scrape_tells_the_requests_of_both(
    two: ServerProcess,
) -> None:
    async with two.client(connections=20) as session:
        api = Api(session)
        await api.have(a_quota(name="read"))
        for _ in range(10):
            answers = [api.get("Quota", "garden-trial", "read") for _ in range(20)]
            assert {answer.status for answer in await asyncio.gather(*answers)} == {200}

        found = await asyncio.to_thread(numbers, two)

    assert found['quotaapi_requests_total{code="200",resource="quotas",verb="get"}'] == 200
    one, other = per_worker(found, "connections")
    assert 20 <= one + other <= 22  # the probes' and the scrape's may still be open
    assert abs(one - other) <= 2
    assert min(per_worker(found, "requests_total")) >= 80


async def test_a_burst_on_one_quota_through_both_is_admitted_exactly_and_nobody_sees_a_conflict(
    two: ServerProcess, own_etcd_url: str
) -> None:
    async with two.client() as session:
        api = Api(session)
        await api.have(
            a_profile(),
            a_quota(name="burst", metrics={"shoots": str(ROOM)}),
            a_binding(name="burst", quotas=["burst"]),
        )
        before = await asyncio.to_thread(numbers, two)

        answers = await burst(
            [api], (a_shoot(name=f"burst-{n}", binding="burst") for n in range(CREATES))
        )

        after = await asyncio.to_thread(numbers, two)
        created, refused, unknown = split(answers)
        assert (len(created), len(refused)) == (ROOM, CREATES - ROOM), {
            name: answers[name] for name in sorted(unknown)
        }
        assert await api.used("garden-trial", "burst") == {"shoots": str(ROOM)}
        assert len(await api.items("Shoot")) == ROOM
    shares = [
        now - then
        for now, then in zip(
            per_worker(after, "requests_total"), per_worker(before, "requests_total"), strict=True
        )
    ]
    assert min(shares) > 0.1 * CREATES
    admitted = "quotaapi_admission_admitted_total"
    assert after[admitted] - before[admitted] == ROOM
    assert assert_exact(own_etcd_url)["shoots"] == ROOM


def test_a_worker_that_hangs_is_left_out_of_a_scrape_and_its_counters_are_not(
    two: ServerProcess,
) -> None:
    before = numbers(two)
    hanging = workers(two)[0]
    os.kill(hanging, signal.SIGSTOP)
    try:
        found = numbers_when(two, lambda n: n["quotaapi_workers_left_out_total"] > 0, 25.0)
    finally:
        os.kill(hanging, signal.SIGCONT)

    for name, value in before.items():
        if name.partition("{")[0].endswith("_total"):
            assert found[name] >= value, name
    numbers_when(two, all_ready, 30.0)


@pytest.mark.slow
def test_a_worker_that_hangs_for_long_is_replaced(two: ServerProcess) -> None:
    hanging = workers(two)[0]
    os.kill(hanging, signal.SIGSTOP)

    found = numbers_when(two, lambda n: sum(per_worker(n, "restarts_total")) > 0, 90.0)

    assert sum(per_worker(found, "restarts_total")) == 1
    numbers_when(two, all_ready, 30.0)
    assert hanging not in workers(two)


def test_one_worker_is_one_process(server: ServerProcess) -> None:
    assert not any(is_worker(pid) for pid in children(server.pid))
    assert "quotaapi_workers" not in numbers(server)
