"""Two releases of the server on one etcd, while one replaces the other: forth and back again."""

import asyncio
import base64
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.builders import a_shoot
from tests.faults.filling import call
from tests.faults.load import NAMESPACES, Load, have_world
from tests.faults.releases import (
    NEXT_FORMAT,
    THIS,
    Release,
    next_release,
    release_after_next,
)
from tests.harness.api import Api
from tests.harness.etcd import assert_exact, running_etcd
from tests.harness.server import ROOT, ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(240)]

Made = Callable[[Path], Release]


def this_release(_directory: Path) -> Release:
    return THIS


def a_server(directory: Path, release: Release, etcd_url: str) -> ServerProcess:
    return ServerProcess(
        directory / f"server-{release.name}", etcd_servers=etcd_url, program=release.program
    )


@asynccontextmanager
async def two_servers(
    directory: Path, older: Release, newer: Release, etcd_url: str
) -> AsyncIterator[tuple[ServerProcess, ServerProcess]]:
    """The older one runs, the newer one does not yet."""
    servers = [a_server(directory, release, etcd_url) for release in (older, newer)]
    try:
        await asyncio.to_thread(servers[0].start)
        yield servers[0], servers[1]
    finally:
        for server in servers:
            server.kill9()


async def a_session(ending: AsyncExitStack, server: ServerProcess) -> aiohttp.ClientSession:
    session = await ending.enter_async_context(server.client())
    # A client that repeats a DELETE by itself cannot be told what became of the first.
    session._retry_connection = False
    return session


async def stored(etcd_url: str) -> dict[bytes, bytes]:
    """Objects and ledgers."""
    found: dict[bytes, bytes] = {}
    for prefix in (b"/registry/garden.sapcloud.io/", b"/registry/.ledger/"):
        ends = {"key": prefix, "range_end": prefix[:-1] + b"0"}
        names: dict[str, object] = {
            name: base64.b64encode(key).decode() for name, key in ends.items()
        }
        for kv in (await call(etcd_url, "kv/range", names)).get("kvs", ()):
            found[base64.b64decode(kv["key"])] = base64.b64decode(kv["value"])
    return found


async def formats(etcd_url: str) -> set[int]:
    """Those of what is stored."""
    values = (await stored(etcd_url)).values()
    return {int(value.partition(b'"v":')[2][:1]) for value in values}


async def delete_all(apis: list[Api]) -> None:
    for number, shoot in enumerate(await apis[0].items("Shoot")):
        answer = await apis[number % len(apis)].delete_object(shoot)
        assert answer.status == 200, answer


@pytest.mark.parametrize(
    ("made_older", "made_newer"),
    [
        pytest.param(this_release, next_release, id="the-next-release-learns-a-format"),
        pytest.param(next_release, release_after_next, id="the-one-after-it-writes-it"),
    ],
)
async def test_an_upgrade_and_a_downgrade_by_one_release_keep_every_promise(
    tmp_path: Path, made_older: Made, made_newer: Made
) -> None:
    older, newer = made_older(tmp_path), made_newer(tmp_path)
    with running_etcd(tmp_path / "etcd") as etcd:
        async with (
            two_servers(tmp_path, older, newer, etcd.endpoint) as (old, new),
            AsyncExitStack() as ending,
        ):
            first = await a_session(ending, old)
            await have_world(Api(first))
            await asyncio.to_thread(new.start)
            second = await a_session(ending, new)
            apis = [Api(first), Api(second)]
            load = Load(apis, seed=7)
            async with load.running():
                await load.some_answers(150)
                await asyncio.to_thread(old.stop)
                await load.some_answers(60)
                await asyncio.to_thread(old.start)
                await load.some_answers(60)
                await asyncio.to_thread(new.stop)
                await load.some_answers(60)
                await asyncio.to_thread(new.start)
                await load.some_answers(60)
            refused = [what for what in load.promises.counts if what.endswith(" 503")]
            assert refused == []
            for api in apis:
                problems = load.promises.reconcile(await api.items("Shoot"))
                assert not problems, problems[:10]
            assert await formats(etcd.endpoint) == {older.written, newer.written}

            await delete_all(apis)
            for api in apis:
                assert set((await api.used("garden-trial", "total")).values()) == {"0"}
                assert await api.items("QuotaUsage") == []
            for server in (old, new):
                assert "Traceback" not in server.log()
        assert_exact(etcd.endpoint, program=newer.program)


async def test_a_release_that_cannot_read_what_a_later_one_stores_refuses_and_spoils_nothing(
    tmp_path: Path,
) -> None:
    """Half of a deployment that skips a release, under load, until the later one serves alone."""
    newer = release_after_next(tmp_path)
    with running_etcd(tmp_path / "etcd") as etcd:
        async with (
            two_servers(tmp_path, THIS, newer, etcd.endpoint) as (old, new),
            AsyncExitStack() as ending,
        ):
            old_api = Api(await a_session(ending, old))
            await have_world(old_api)
            await asyncio.to_thread(new.start)
            new_api = Api(await a_session(ending, new))
            load = Load([old_api, new_api], seed=8)
            async with load.running():
                await load.some_answers(100)
            assert load.promises.counts["create 503"]
            problems = load.promises.reconcile(await new_api.items("Shoot"))
            assert not problems, problems[:10]

            assert not old.is_ready()
            assert new.is_ready()
            why = f"is stored in format {NEXT_FORMAT}, which this server does not know"
            assert "readyz check failed: watch-cache: " in old.log()
            assert why in old.log()
            assert "Traceback" not in old.log()
            for answer in (
                await old_api.request("GET", "shoots"),
                await old_api.request("GET", "shoots?watch=true"),
                await old_api.create(a_shoot(name="never", namespace=NAMESPACES[0])),
            ):
                assert answer.status == 503, answer
            assert "in a format that this release of the server does not know" in answer.message

            # Alone, it changes nothing.
            shoots = await new_api.items("Shoot")
            await asyncio.to_thread(new.stop)
            before = await stored(etcd.endpoint)
            for shoot in shoots:
                assert (await old_api.delete_object(shoot)).status == 503
            audited = await asyncio.to_thread(audit, etcd.endpoint)
            assert (audited.returncode, why in audited.stderr) == (2, True)
            async with asyncio.timeout(20):
                while "gives up leading" not in old.log():
                    await asyncio.sleep(0.1)  # another process: there is nothing to wait on
            assert await stored(etcd.endpoint) == before

            await asyncio.to_thread(new.start)
            assert await new_api.items("Shoot") == shoots
            assert_exact(etcd.endpoint, program=newer.program)


def audit(etcd_url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *THIS.program, "audit", "--etcd-servers", etcd_url]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
