"""Two server processes on one etcd, sharing a burst."""

from pathlib import Path

import pytest

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api
from tests.harness.burst import CREATES, ROOM, burst, split
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess


@pytest.mark.parametrize("scope", ["secret", "project"])
async def test_two_replicas_admit_exactly_what_fits_and_no_client_sees_a_conflict(
    tmp_path: Path, own_etcd_url: str, scope: str
) -> None:
    with (
        ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as one,
        ServerProcess(tmp_path / "two", etcd_servers=own_etcd_url) as two,
    ):
        async with one.client() as first, two.client() as second:
            apis = [Api(first), Api(second)]
            await apis[0].have(
                a_profile(),
                a_quota(name="burst", scope=scope, metrics={"shoots": str(ROOM)}),
                a_binding(name="burst", quotas=["burst"]),
            )

            answers = await burst(
                apis, (a_shoot(name=f"burst-{n}", binding="burst") for n in range(CREATES))
            )

            created, refused, unknown = split(answers)
            assert (len(created), len(refused)) == (ROOM, CREATES - ROOM), {
                name: answers[name] for name in sorted(unknown)
            }
            for api in apis:
                stored = {shoot["metadata"]["name"] for shoot in await api.items("Shoot")}
                assert stored == created
                assert await api.namespace_used("garden-dev", "burst") == {"shoots": str(ROOM)}
    assert assert_exact(own_etcd_url)["shoots"] == ROOM


async def test_what_one_replica_wrote_the_other_reads_at_once(
    tmp_path: Path, own_etcd_url: str
) -> None:
    with (
        ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as one,
        ServerProcess(tmp_path / "two", etcd_servers=own_etcd_url) as two,
    ):
        async with one.client() as first, two.client() as second:
            for number in range(20):
                quota = a_quota(name=f"quota-{number}")
                await Api(first).have(quota)
                answer = await Api(second).get("Quota", "garden-trial", f"quota-{number}")
                assert answer.status == 200, answer
