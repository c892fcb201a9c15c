"""Two replicas are restarted one after the other while clients work through the front proxy."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from apis.meta.codec import decode_json
from tests.builders import a_quota
from tests.frontproxy.scene import BehindCluster, forwarding
from tests.harness.server import GROUP_PATH

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

RETRYABLE = (503, 504)
CLIENTS = 8
QUOTAS = f"{GROUP_PATH}/namespaces/garden/quotas"


@pytest.fixture
def replicas(
    tmp_path: Path, authorities, cluster_kubeconfig: Path, etcd_url: str
) -> Iterator[list[BehindCluster]]:
    made = [
        BehindCluster(
            tmp_path / name,
            authorities=authorities,
            kubeconfig=cluster_kubeconfig,
            etcd_servers=etcd_url,
            arguments=("--etcd-prefix", "/rolling"),
        )
        for name in ("one", "two")
    ]
    with made[0], made[1]:
        yield made


class Load:
    """Clients that create without a pause, and one that watches and resumes."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self.failed: list[tuple[int, str]] = []
        self.created: set[str] = set()
        self.seen: list[str] = []
        self.watches = 0
        self._done = asyncio.Event()

    async def client(self, number: int) -> None:
        count = 0
        while not self._done.is_set():
            name = f"q-{number}-{count}"
            count += 1
            while (status := await self._create(name)) in RETRYABLE:  # noqa: ASYNC110 -- a client's way
                await asyncio.sleep(0.05)
            # What a 503 or 504 left open may have been done: then the repetition finds it there.
            if status in (201, 409):
                self.created.add(name)

    async def _create(self, name: str) -> int:
        body = a_quota(name=name, namespace="garden")
        async with self._session.post(QUOTAS, json=body) as answer:
            text = await answer.text()
            if answer.status not in (201, 409, *RETRYABLE):
                self.failed.append((answer.status, text))
            return answer.status

    async def watch(self) -> None:
        version = "0"
        while True:
            self.watches += 1
            async with aclosing(self._events(version)) as events:
                async for event in events:
                    assert event["type"] != "ERROR", event
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] == "ADDED":
                        self.seen.append(event["object"]["metadata"]["name"])

    async def _events(self, version: str) -> AsyncGenerator[Any, None]:
        params = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        try:
            async with self._session.get(QUOTAS, params=params) as answer:
                if answer.status != 200:
                    assert answer.status in RETRYABLE
                    await asyncio.sleep(0.05)
                    return
                while line := await answer.content.readline():
                    yield decode_json(line).value
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError):
            return  # the replica ended: resume

    def finish(self) -> None:
        self._done.set()

    async def wait_created(self, more: int) -> None:
        wanted = len(self.created) + more
        while len(self.created) < wanted:  # noqa: ASYNC110 -- others are at work
            await asyncio.sleep(0.02)

    async def wait_seen(self) -> None:
        while not self.created <= set(self.seen):  # noqa: ASYNC110 -- another process sends
            await asyncio.sleep(0.02)


async def test_no_request_fails_for_good_and_watches_resume(
    replicas, authorities, the_cluster
) -> None:
    proxy = authorities.proxies.client("front-proxy-client")
    with forwarding(authorities, replicas, proxy) as url:
        trusted = ssl.create_default_context(cafile=str(authorities.serving.path))
        connector = aiohttp.TCPConnector(ssl=trusted, limit=0)
        headers = {"Test-User": "alice", "Test-Group": "dev"}
        async with aiohttp.ClientSession(url, connector=connector, headers=headers) as session:
            load = Load(session)
            async with asyncio.timeout(150), asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(load.watch())
                clients = [tasks.create_task(load.client(number)) for number in range(CLIENTS)]
                for replica in replicas:
                    await load.wait_created(50)
                    assert await asyncio.to_thread(replica.stop) == 0
                    await load.wait_created(50)
                    await asyncio.to_thread(replica.start)
                await load.wait_created(50)
                load.finish()
                await asyncio.wait(clients)
                await load.wait_seen()
                watching.cancel()

    assert load.failed == []
    assert sorted(load.seen) == sorted(load.created)
    assert load.watches > 1
