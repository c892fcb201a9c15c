"""Neither lists of 10,000 objects, nor deletions of thousands, nor endless selectors make others wait."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from apis.meta import codec
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.faults.filling import fill
from tests.faults.looptime import delayed_seconds, loop_seconds
from tests.harness.api import Api
from tests.harness.etcd import running_etcd
from tests.harness.server import GROUP_PATH, ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(480)]

OBJECTS = 10_000
WAIT_SECONDS = 0.05
"""Without the time for which the server or this test could have run and had no processor: what a busy
machine does is not the server's doing."""
ATTEMPTS = 15
"""One in which nobody waited is proof: what a server does to those who wait, it does each time."""

ACCEPT = {
    "objects": "application/json",
    "a table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "metadata": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
}
QUERIES = {
    "from the cache": "resourceVersion=0",
    "consistent": "",
    "selected": "labelSelector=a%3Db",
    "in pages": "limit=500",
    "for people": "pretty=true&resourceVersion=0",
}
DELETED = 2_000
WATCHERS = 50
LARGE = 6
REQUIREMENTS = 5_000
WRITES = 40


Served = tuple[ServerProcess, aiohttp.ClientSession]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    with (
        running_etcd(tmp_path / "etcd") as etcd,
        ServerProcess(tmp_path / "server", etcd_servers=etcd.endpoint) as server,
    ):
        async with server.client() as session:
            await Api(session).have(a_quota())
            yield server, session


@pytest.fixture
async def full(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with OBJECTS quotas."""
    with (
        running_etcd(tmp_path / "etcd") as etcd,
        ServerProcess(
            tmp_path / "server",
            etcd_servers=etcd.endpoint,
            # On a busy machine the list as YAML takes longer than an answer may by default.
            arguments=("--request-timeout", "300s"),
        ) as server,
    ):
        async with server.client() as session:
            await Api(session).have(a_quota())
            await fill(etcd.endpoint, OBJECTS)
            yield server, session


async def read(session: aiohttp.ClientSession, query: str, accept: str) -> int:
    """The bytes of the answer, taken as they come and not looked at."""
    size = 0
    path = f"{GROUP_PATH}/quotas?{query}"
    async with session.get(path, headers={"Accept": accept}) as answer:
        assert answer.status == 200
        async for chunk in answer.content.iter_any():
            size += len(chunk)
    return size


async def delete_many(session: aiohttp.ClientSession) -> int:
    """As if: so that it can be tried again."""
    path = f"{GROUP_PATH}/namespaces/garden-trial/quotas?dryRun=All&limit={DELETED}"
    async with session.delete(path) as answer:
        assert answer.status == 200
        return len((await answer.json())["items"])


LongRequest = Callable[[aiohttp.ClientSession], Coroutine[Any, Any, int]]


def delays(server: ServerProcess) -> float:
    return delayed_seconds(server.pid) + delayed_seconds(os.getpid())


async def longest_wait(served: Served, long_request: LongRequest) -> float:
    """How long the slowest of many small requests took beside the long one; see WAIT_SECONDS."""
    server, session = served
    loop = asyncio.get_running_loop()
    worst = 0.0
    async with asyncio.TaskGroup() as group:
        running = group.create_task(long_request(session))
        while not running.done():
            began, delayed = loop.time(), delays(server)
            async with session.get("/livez") as answer:
                await answer.read()
            took = loop.time() - began
            worst = max(worst, took - (delays(server) - delayed))
    return worst


async def shortest_wait(served: Served, long_request: LongRequest) -> float:
    best = 9.0
    for _ in range(ATTEMPTS):
        best = min(best, await longest_wait(served, long_request))
        if best < WAIT_SECONDS:
            break
    return best


async def test_nobody_waits_for_a_list_of_ten_thousand(full: Served) -> None:
    waits: dict[str, float] = {}
    for how, query in QUERIES.items():
        for what, accept in ACCEPT.items():
            reading = partial(read, query=query, accept=accept)
            waits[f"{what}, {how}"] = await shortest_wait(full, reading)
    # Seconds of work: once is enough.
    reading = partial(read, query="resourceVersion=0", accept="application/yaml")
    waits["YAML"] = await shortest_wait(full, reading)
    slow = {what: f"{seconds * 1000:.0f} ms" for what, seconds in waits.items()}

    assert max(waits.values()) < WAIT_SECONDS, slow


async def test_nobody_waits_for_a_deletion_of_thousands(full: Served) -> None:
    assert await shortest_wait(full, delete_many) < WAIT_SECONDS


async def loop_time_of_writes(
    server: ServerProcess, session: aiohttp.ClientSession, selector: str
) -> float:
    """What the loop works on some writes that WATCHERS with a selector are not told of."""
    path = f"{GROUP_PATH}/namespaces/garden-trial/quotas"
    async with AsyncExitStack() as watching:
        for number in range(WATCHERS):
            mine = f"{path}?watch=1&resourceVersion=0&labelSelector={selector},own!={number}"
            watch = await watching.enter_async_context(session.get(mine))
            assert watch.status == 200, await watch.text()
        before = loop_seconds(server.pid)
        for number in range(WRITES):
            patch = {"metadata": {"labels": {"written": str(number)}}}
            async with session.patch(
                f"{path}/quota",
                data=codec.encode(patch),
                headers={"Content-Type": "application/merge-patch+json"},
            ) as answer:
                assert answer.status == 200, await answer.text()
        return loop_seconds(server.pid) - before


async def test_a_selector_of_thousands_costs_its_watchers_no_more_than_a_short_one(
    served: Served,
) -> None:
    server, session = served
    short = await loop_time_of_writes(server, session, "never=there")
    many = ",".join(f"!k{number}" for number in range(REQUIREMENTS))
    long = await loop_time_of_writes(server, session, f"{many},never=there")

    assert long < 3 * short, f"{long * 1000:.0f} ms against {short * 1000:.0f} ms"


async def have_large_shoots(api: Api, count: int = LARGE) -> None:
    await api.have(a_profile(), a_binding(quotas=["quota"]))
    for number in range(count):
        shoot = a_shoot(name=f"large-{number}")
        shoot["spec"]["preserved"] = [{"number": each} for each in range(30_000)]
        assert (await api.create(shoot)).status == 201


async def loop_time_of_state(
    server: ServerProcess, session: aiohttp.ClientSession, accept: str
) -> float:
    """What the loop works on the large shoots of which a watch begins; the least of some attempts."""
    least = 9.0
    path = f"{GROUP_PATH}/shoots?watch=1"
    for _ in range(3):
        before = loop_seconds(server.pid)
        async with session.get(path, headers={"Accept": accept}) as watch:
            lines = 0
            async for chunk in watch.content.iter_any():
                lines += chunk.count(b"\n")
                if lines == LARGE:
                    break
        least = min(least, loop_seconds(server.pid) - before)
    return least


async def test_nobody_waits_for_a_watch_of_large_objects_in_another_shape(served: Served) -> None:
    server, session = served
    await have_large_shoots(Api(session))
    as_stored = await loop_time_of_state(server, session, "application/json")
    for what in ("Table", "PartialObjectMetadata"):
        accept = f"application/json;as={what};v=v1;g=meta.k8s.io"
        worked = await loop_time_of_state(server, session, accept)
        assert worked < 2 * as_stored, f"{what}: {worked * 1000:.0f} ms"


async def delete_shoots(session: aiohttp.ClientSession) -> int:
    """As if, as `delete_many`."""
    path = f"{GROUP_PATH}/namespaces/garden-trial/shoots?dryRun=All"
    async with session.delete(path) as answer:
        assert answer.status == 200
        return len(await answer.read())


async def test_nobody_waits_for_a_deletion_of_large_objects(served: Served) -> None:
    await have_large_shoots(Api(served[1]), 10)

    assert await shortest_wait(served, delete_shoots) < WAIT_SECONDS
