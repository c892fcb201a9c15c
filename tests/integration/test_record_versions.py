"""An old replica beside a new one, which stores records of which the old one knows nothing."""

import asyncio
import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api
from tests.harness.etcd import assert_exact
from tests.harness.server import ROOT, ServerProcess

QUOTA = "/registry/garden.sapcloud.io/quotas/garden-trial/quota"
SHOOT = "/registry/garden.sapcloud.io/shoots/garden-dev/shoot"
LATER_FORMATS = {
    "format": (b'{"v":1', b'{"v":2'),
    "part": (b'"charge"', b'"deposit":1,"charge"'),
}


def etcd(url: str, method: str, **body: Any) -> dict[str, Any]:
    with requests.Session() as session:
        session.trust_env = False
        found: dict[str, Any] = session.post(f"{url}/v3/kv/{method}", json=body, timeout=10).json()
        return found


def read(url: str, key: str) -> bytes:
    name = base64.b64encode(key.encode()).decode()
    return base64.b64decode(etcd(url, "range", key=name)["kvs"][0]["value"])


def put(url: str, key: str, value: bytes) -> None:
    name = base64.b64encode(key.encode()).decode()
    etcd(url, "put", key=name, value=base64.b64encode(value).decode())


def audit(url: str) -> int:
    command = [sys.executable, "-m", "quotaapi", "audit", "--etcd-servers", url]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, timeout=60, check=False
    ).returncode


async def until(server: ServerProcess, *, ready: bool) -> None:
    async with asyncio.timeout(20):
        while server.is_ready() is not ready:  # noqa: ASYNC110 -- another process
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("later", sorted(LATER_FORMATS))
async def test_what_a_later_release_stored_is_neither_served_nor_written_over(
    tmp_path: Path, own_etcd_url: str, later: str
) -> None:
    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as server:
        async with server.client() as session:
            api = Api(session)
            await api.have(
                a_profile(),
                a_quota(name="quota", metrics={"cpu": "100"}),
                a_binding(name="binding", quotas=["quota"]),
                a_shoot(name="shoot"),
            )
            known = read(own_etcd_url, SHOOT)
            unknown = known.replace(*LATER_FORMATS[later])
            assert unknown != known
            put(own_etcd_url, SHOOT, unknown)
            await until(server, ready=False)

            labels = {"metadata": {"labels": {"a": "b"}}}
            answers = [
                await api.get("Shoot", "garden-dev", "shoot"),
                await api.patch("Shoot", "garden-dev", "shoot", labels),
                await api.delete("Shoot", "garden-dev", "shoot"),
                await api.request("GET", "shoots"),
            ]
            other = await api.create(a_shoot(name="other"))

            assert {answer.status for answer in answers} == {503}
            assert read(own_etcd_url, SHOOT) == unknown
            assert audit(own_etcd_url) == 2
            put(own_etcd_url, SHOOT, known)
            await until(server, ready=True)
            names = {shoot["metadata"]["name"] for shoot in await api.items("Shoot")}
            assert names == {"shoot"} | ({"other"} if other.status == 201 else set())
    assert_exact(own_etcd_url, "--from-revision", str(_revision(own_etcd_url)))


async def test_nothing_is_admitted_to_a_quota_with_a_metric_that_only_a_later_release_knows(
    tmp_path: Path, own_etcd_url: str
) -> None:
    """It could not be charged there. What other quotas allow goes on."""
    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as server:
        async with server.client() as session:
            api = Api(session)
            await api.have(
                a_profile(),
                a_quota(name="quota", metrics={"cpu": "100", "gpu": "5"}),
                a_quota(name="other"),
                a_binding(name="binding", quotas=["quota"]),
                a_binding(name="other", quotas=["other"]),
                a_shoot(name="shoot"),
            )
            known = read(own_etcd_url, QUOTA)
            put(own_etcd_url, QUOTA, known.replace(b'"gpu":', b'"qpu":'))
            await until_listed(api, "qpu")

            refused = [
                await api.create(a_shoot(name="never")),
                await api.delete("Shoot", "garden-dev", "shoot"),
            ]
            admitted = await api.create(a_shoot(name="another", binding="other"))

            assert [answer.status for answer in refused if answer.status < 500] == []
            assert admitted.status == 201
            assert {shoot["metadata"]["name"] for shoot in await api.items("Shoot")} == {
                "shoot",
                "another",
            }


async def until_listed(api: Api, metric: str) -> None:
    async with asyncio.timeout(20):
        quota = await api.get("Quota", "garden-trial", "quota")
        while metric not in quota.body["spec"]["metrics"]:
            await asyncio.sleep(0.05)  # another process: there is nothing to wait on
            quota = await api.get("Quota", "garden-trial", "quota")


def _revision(url: str) -> int:
    return int(etcd(url, "range", key="AA==")["header"]["revision"])
