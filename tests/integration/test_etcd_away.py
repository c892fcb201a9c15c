"""While etcd is away: an answer in time that says so, and no lost write."""

import asyncio
from pathlib import Path

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.etcd_process import EtcdProcess
from tests.harness.api import Answer, Api
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess

ANSWER_SECONDS = 30
"""The ten seconds of an admission and what surrounds it; a hang would be far longer."""


async def test_requests_are_answered_in_time_while_etcd_is_away_and_work_when_it_is_back(
    tmp_path: Path, own_etcd: EtcdProcess
) -> None:
    with ServerProcess(tmp_path / "server", etcd_servers=own_etcd.endpoint) as server:
        async with server.client() as session:
            api = Api(session)
            await api.have(
                a_profile(),
                a_quota(name="quota", metrics={"shoots": "10"}),
                a_binding(name="binding", quotas=["quota"]),
                a_shoot(name="old"),
            )
            own_etcd.kill()

            async with asyncio.timeout(ANSWER_SECONDS):
                answers: list[Answer] = await asyncio.gather(
                    api.create(a_shoot(name="new")),
                    api.create(a_quota(name="another")),
                    api.create(a_shoot(name="new-too"), dry_run=True),
                    api.patch(
                        "Quota", "garden-trial", "quota", {"spec": {"metrics": {"cpu": "1"}}}
                    ),
                    api.delete("Shoot", "garden-dev", "old"),
                    api.get("Quota", "garden-trial", "quota"),
                    api.request("GET", "shoots"),
                )

            for answer in answers:
                assert answer.status in {503, 504}, answer
                assert answer.body["kind"] == "Status"
                assert answer.body["details"]["retryAfterSeconds"] > 0
            assert "Traceback" not in server.log()
            own_etcd.start()
            await asyncio.to_thread(server.wait_ready)
            stored = {shoot["metadata"]["name"] for shoot in await api.items("Shoot")}
            # A write that was answered 504 may be done or not: what counts is that it is exact.
            assert await api.used("garden-trial", "quota") in (
                {"shoots": str(len(stored))},
                {"shoots": str(len(stored)), "cpu": str(2 * len(stored))},
            )
            assert (await api.create(a_shoot(name="afterwards"))).status in {201, 403}
    assert_exact(own_etcd.endpoint)


async def test_a_server_that_starts_before_its_etcd_becomes_ready_when_etcd_does(
    tmp_path: Path, own_etcd: EtcdProcess
) -> None:
    own_etcd.kill()
    server = ServerProcess(tmp_path / "server", etcd_servers=own_etcd.endpoint)
    server.launch()
    try:
        own_etcd.start()
        await asyncio.to_thread(server.wait_ready)
    finally:
        server.stop()
