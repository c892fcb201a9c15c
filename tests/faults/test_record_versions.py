"""Stored records say in which format they are: what a server does not know it does not misread.

An older replica beside a newer one, and a downgrade, are what this is about.
"""

import asyncio
import base64
from pathlib import Path

import pytest

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.faults.filling import call
from tests.faults.load import Load, have_world
from tests.harness.api import Api
from tests.harness.etcd import assert_exact, running_etcd
from tests.harness.server import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

QUOTA = "/registry/garden.sapcloud.io/quotas/garden-trial/quota"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def stored(etcd_url: str, key: str) -> str:
    found = await call(etcd_url, "kv/range", {"key": b64(key)})
    return base64.b64decode(found["kvs"][0]["value"]).decode()


async def put(etcd_url: str, key: str, value: str) -> None:
    await call(etcd_url, "kv/put", {"key": b64(key), "value": b64(value)})


async def test_a_record_of_a_newer_format_is_neither_misread_nor_overwritten(
    tmp_path: Path,
) -> None:
    with (
        running_etcd(tmp_path / "etcd") as etcd,
        ServerProcess(tmp_path / "server", etcd_servers=etcd.endpoint) as server,
    ):
        async with server.client() as session:
            api = Api(session)
            await api.have(a_profile(), a_quota(), a_binding(quotas=["quota"]))
            await api.have(a_shoot(name="old"))
            known = await stored(etcd.endpoint, QUOTA)
            newer = known.replace('{"v":1,', '{"v":2,', 1)
            await put(etcd.endpoint, QUOTA, newer)

            # Charging an account that cannot be read would be charging it wrongly.
            refused = await _until_refused(api)
            assert refused == 503
            for request in (
                api.get("Quota", "garden-trial", "quota"),
                api.delete("Shoot", "garden-dev", "old"),
                api.delete("Quota", "garden-trial", "quota"),
                api.patch("Quota", "garden-trial", "quota", {"spec": {"metrics": {}}}),
            ):
                answer = await request
                assert answer.status == 503, answer
            assert await stored(etcd.endpoint, QUOTA) == newer
            assert "is stored in format 2, which this server does not know" in server.log()

            # The newer server's operator goes back: everything works again, and is exact.
            await put(etcd.endpoint, QUOTA, known)
            await asyncio.to_thread(server.wait_ready)
            async with asyncio.timeout(20):
                while (await api.create(a_shoot(name="new"))).status != 201:
                    await asyncio.sleep(0.2)  # another process: there is nothing to wait on
            assert await api.used("garden-trial", "quota") == {"cpu": "4"}


async def _until_refused(api: Api) -> int:
    async with asyncio.timeout(20):
        while True:
            answer = await api.create(a_shoot(name="never"), dry_run=True)
            if answer.status != 201:
                return answer.status
            await asyncio.sleep(0.05)  # another process: there is nothing to wait on


async def test_a_server_does_not_start_serving_what_it_cannot_read(tmp_path: Path) -> None:
    with running_etcd(tmp_path / "etcd") as etcd:
        await put(etcd.endpoint, QUOTA, '{"v":7,"p":"000","t":"0000000000000000"}\n{}')
        server = ServerProcess(tmp_path / "server", etcd_servers=etcd.endpoint)
        server.launch()
        try:
            async with asyncio.timeout(30):
                while "stored in format 7" not in server.log():
                    await asyncio.sleep(0.1)  # another process: there is nothing to wait on
            assert not await asyncio.to_thread(server.is_ready)
        finally:
            server.stop()


async def test_a_header_with_a_part_of_a_later_release_is_refused_not_dropped(
    tmp_path: Path,
) -> None:
    """Writing the account again without it would lose what the later release counts there."""
    with (
        running_etcd(tmp_path / "etcd") as etcd,
        ServerProcess(tmp_path / "server", etcd_servers=etcd.endpoint) as server,
    ):
        async with server.client() as session:
            api = Api(session)
            await api.have(a_profile(), a_quota(), a_binding(quotas=["quota"]))
            value = await stored(etcd.endpoint, QUOTA)
            line, newline, rest = value.partition("\n")
            await put(etcd.endpoint, QUOTA, f'{line[:-1]},"later":"x"}}{newline}{rest}')

            assert await _until_refused(api) == 503
            assert (await api.create(a_shoot(name="new"))).status == 503
            assert '"later":"x"' in await stored(etcd.endpoint, QUOTA)


async def test_replicas_that_are_replaced_one_after_the_other_keep_every_promise(
    tmp_path: Path,
) -> None:
    """A rolling restart under load: the old one is told to stop while the new one serves."""
    with running_etcd(tmp_path / "etcd") as etcd:
        with (
            ServerProcess(tmp_path / "one", etcd_servers=etcd.endpoint) as one,
            ServerProcess(tmp_path / "two", etcd_servers=etcd.endpoint) as two,
        ):
            async with one.client() as first, two.client() as second:
                for session in (first, second):
                    session._retry_connection = False
                await have_world(Api(first))
                load = Load([Api(first), Api(second)], seed=5)
                async with load.running():
                    for server in (one, two):
                        await load.some_answers(60)
                        await asyncio.to_thread(server.stop)
                        await load.some_answers(30)
                        await asyncio.to_thread(server.start)
                    await load.some_answers(30)
                for session in (first, second):
                    problems = load.promises.reconcile(await Api(session).items("Shoot"))
                    assert not problems, problems[:10]
        assert_exact(etcd.endpoint)
