"""An etcd whose database is full: what is told, what goes on, and how it ends."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.etcd_process import EtcdProcess
from tests.harness.api import Answer, Api
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess

QUOTA_BYTES = 4 << 20
WRITES = 60
SECONDS = 30


@pytest.fixture
async def full_etcd(tmp_path: Path) -> AsyncIterator[EtcdProcess]:
    etcd = EtcdProcess(tmp_path / "etcd", arguments=(f"--quota-backend-bytes={QUOTA_BYTES}",))
    try:
        await asyncio.to_thread(etcd.start)
        yield etcd
    finally:
        etcd.stop()


async def fill(api: Api) -> int:
    """Overwrite one object until a write is refused; the status of that."""
    await api.have(a_quota(name="filler"))
    for number in range(WRITES):
        patch = {"metadata": {"annotations": {"fill": f"{number:02}" * 100_000}}}
        answer = await api.patch("Quota", "garden-trial", "filler", patch)
        if answer.status != 200:
            assert answer.body["reason"] == "InsufficientStorage"
            assert "--quota-backend-bytes" in answer.message
            assert "was not carried out" in answer.message
            assert "retryAfterSeconds" not in answer.body.get("details", {})
            return answer.status
    raise AssertionError("it is not full")


async def scale(api: Api, machines: int) -> Answer:
    workers = [a_worker(maximum=machines)]
    patch = {"spec": {"cloud": {"aws": {"workers": workers}}}}
    return await api.patch("Shoot", "garden-dev", "shoot", patch)


async def text(session: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with session.get(path) as answer:
        return answer.status, await answer.text()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await condition():  # noqa: ASYNC110  # another process: there is no event
            await asyncio.sleep(0.1)


async def make_room(etcd: EtcdProcess) -> None:
    """What the operator does."""
    async with aiohttp.ClientSession(etcd.endpoint) as session:

        async def call(path: str, body: dict[str, object]) -> dict[str, Any]:
            async with session.post(f"/v3{path}", json=body) as answer:
                assert answer.status == 200, await answer.text()
                found: dict[str, Any] = await answer.json(content_type=None)
                return found

        key = base64.b64encode(b"x").decode()
        newest = (await call("/kv/range", {"key": key}))["header"]["revision"]
        await call("/kv/compaction", {"revision": newest, "physical": True})
        await call("/maintenance/defragment", {})
        for alarm in (await call("/maintenance/alarm", {"action": "GET"}))["alarms"]:
            await call("/maintenance/alarm", {"action": "DEACTIVATE", **alarm})


async def test_clients_and_operators_are_told_and_reads_go_on(
    tmp_path: Path, full_etcd: EtcdProcess
) -> None:
    with ServerProcess(tmp_path / "server", etcd_servers=full_etcd.endpoint) as server:
        async with server.client() as session:
            api = Api(session)
            shoot = a_shoot()
            await api.have(a_profile(), a_quota(), a_binding(quotas=["quota"]), shoot)

            assert await fill(api) == 507

            refused = [await api.create(a_quota(name="more")), await scale(api, 3)]
            assert [answer.status for answer in refused] == [507, 507]
            assert (await text(session, "/readyz"))[0] == 200
            assert (await text(session, "/healthz/etcd-space"))[0] == 503
            assert "quotaapi_etcd_full 1\n" in (await text(session, "/metrics"))[1]
            assert server.log().count("etcd's database is full: it refuses every write") == 1
            assert "etcdctl alarm disarm" in server.log()

            # Reads, and refusals that rest on reads, are as ever.
            assert (await api.get("Shoot", "garden-dev", "shoot")).status == 200
            assert len(await api.items("Shoot")) == 1
            assert (await api.create(shoot)).status == 409
            huge = a_shoot(name="huge", workers=[a_worker(maximum=1000)])
            assert (await api.create(huge)).status == 403
            assert (await api.create(a_shoot(name="dry"), dry_run=True)).status == 201

            await make_room(full_etcd)

            async def is_well() -> bool:
                return (await text(session, "/healthz/etcd-space"))[0] == 200

            await until(is_well)
            assert "quotaapi_etcd_full 0\n" in (await text(session, "/metrics"))[1]
            assert "etcd takes writes again" in server.log()
            assert (await scale(api, 3)).status == 200
    assert await asyncio.to_thread(assert_exact, full_etcd.endpoint)
