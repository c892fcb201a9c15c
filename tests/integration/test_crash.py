"""kill -9 of the server, and of etcd, in the middle of a burst."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.etcd_process import EtcdProcess
from tests.harness.api import Answer, Api
from tests.harness.burst import ROOM, assert_kept, burst, have_quota, shoots, split
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess


def once(count: int, action: Callable[[], None]) -> Callable[[int], None]:
    """`action` at the `count`th answer."""

    def answered(number: int) -> None:
        if number == count:
            action()

    return answered


@pytest.mark.parametrize("after", [20, 300, 650])
async def test_a_server_that_is_killed_in_a_burst_leaves_exact_accounts(
    tmp_path: Path, own_etcd_url: str, after: int
) -> None:
    with ServerProcess(tmp_path / "server", etcd_servers=own_etcd_url) as server:
        async with server.client() as session:
            await have_quota(Api(session))
            answers = await burst([Api(session)], shoots(), answered=once(after, server.kill9))
        assert_exact(own_etcd_url)

        await asyncio.to_thread(server.start)
        async with server.client() as session:
            api = Api(session)
            stored = await assert_kept(api, answers)
            missing = [s for s in shoots() if s["metadata"]["name"] not in stored]
            again = await burst([api], missing)

            created, _, unknown = split(again)
            assert (len(stored) + len(created), unknown) == (ROOM, set())
    assert assert_exact(own_etcd_url)["shoots"] == ROOM


@pytest.mark.parametrize("after", [20, 300, 650])
async def test_an_etcd_that_is_killed_in_a_burst_loses_nothing_that_was_answered(
    tmp_path: Path, own_etcd: EtcdProcess, after: int
) -> None:
    with ServerProcess(tmp_path / "server", etcd_servers=own_etcd.endpoint) as server:
        async with server.client() as session:
            api = Api(session)
            await have_quota(api)

            def power_cut() -> None:
                own_etcd.kill()
                own_etcd.start()

            answers = await burst([api], shoots(), answered=once(after, power_cut))

            for answer in answers.values():
                assert isinstance(answer, Answer)
                assert answer.status in {201, 403, 503, 504}, answer
                if answer.status > 500:
                    assert answer.body["details"]["retryAfterSeconds"] > 0
            await asyncio.to_thread(server.wait_ready)
            stored = await assert_kept(api, answers)
            missing = [s for s in shoots() if s["metadata"]["name"] not in stored]
            created, _, unknown = split(await burst([api], missing))
            assert (len(stored) + len(created), unknown) == (ROOM, set())
    assert assert_exact(own_etcd.endpoint)["shoots"] == ROOM


async def test_an_embedded_etcd_survives_its_servers_kill(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "server") as server:
        async with server.client() as session:
            await have_quota(Api(session))
            answers = await burst([Api(session)], shoots(), answered=once(300, server.kill9))

        await asyncio.to_thread(server.start)
        async with server.client() as session:
            await assert_kept(Api(session), answers)
