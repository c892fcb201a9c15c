"""Informers of a replica that was away while the other one wrote many revisions.

None of them may have to list again: etcd has all of it. What each saw is compared with what a watch at
the other replica saw, which was never away.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from apis.meta import codec
from tests.builders import a_quota
from tests.etcd_process import EtcdProcess
from tests.harness.api import Api, Object
from tests.harness.server import GROUP_PATH, ServerProcess
from tests.tcp_proxy import TcpProxy, tcp_proxy

WRITES = 1_000
MANY_WRITES = 5_000
WRITERS = 16
SECONDS = 120

Change = tuple[int, str, str]
"""resourceVersion, type, name."""


@dataclass(slots=True)
class Informer:
    """Lists once, and watches, as client-go's reflector does: it goes on at its version where it is
    told that it fell behind (429), and lists again after any other error in the stream.

    `selector`: of labels, as the query has it.
    """

    selector: str = ""
    version: int = 0
    lists: int = 0
    bookmarks: list[int] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    async def run(self, session: aiohttp.ClientSession) -> None:
        """Until cancelled."""
        while True:
            try:
                if not self.version:
                    await self._list(session)
                await self._watch(session)
            except (OSError, TimeoutError, aiohttp.ClientError):
                await asyncio.sleep(0.1)

    async def _list(self, session: aiohttp.ClientSession) -> None:
        answer = await Api(session).request(
            "GET", "quotas", params={"labelSelector": self.selector}
        )
        if answer.status != 200:
            raise TimeoutError
        self.lists += 1
        self.version = int(answer.body["metadata"]["resourceVersion"])
        self.names = {obj["metadata"]["name"] for obj in answer.body["items"]}

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        params = {
            "watch": "1",
            "resourceVersion": str(self.version),
            "labelSelector": self.selector,
            "allowWatchBookmarks": "1",
        }
        forever = aiohttp.ClientTimeout(total=None)
        path = f"{GROUP_PATH}/quotas"
        async with session.get(path, params=params, timeout=forever) as answer:
            if answer.status != 200:
                raise TimeoutError
            while line := await answer.content.readline():
                self._take(codec.decode_json(line).value)

    def _take(self, event: Object) -> None:
        kind, obj = event["type"], event["object"]
        if kind == "ERROR" and obj.get("code") == 429:
            raise TimeoutError
        if kind == "ERROR":
            self.faults.append(f"{obj.get('code')} {obj.get('message')} at {self.version}")
            self.version = 0
            raise TimeoutError
        version, name = int(obj["metadata"]["resourceVersion"]), obj["metadata"].get("name", "")
        if version < self.version or (kind != "BOOKMARK" and version == self.version):
            self.faults.append(f"{kind} of {version} after {self.version}")
        self.version = version
        if kind == "BOOKMARK":
            self.bookmarks.append(version)
            return
        if (kind == "ADDED") == (name in self.names):
            self.faults.append(f"{kind} of {name} at {version}")
        (self.names.discard if kind == "DELETED" else self.names.add)(name)
        self.changes.append((version, kind, name))


async def caught_up(api: Api, informers: Sequence[Informer]) -> None:
    """Wait until all have seen everything that has been written: they see what is written now."""
    last = a_quota(name=f"last-{len(informers[0].changes)}")
    last["metadata"]["labels"] = {"team": "red"}
    answer = await api.create(last)
    version = int(answer.body["metadata"]["resourceVersion"])
    async with asyncio.timeout(SECONDS):
        for informer in informers:
            while informer.version < version:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def write(api: Api, writer: int, count: int) -> None:
    """Creates, changes that enter and leave the selection, and deletions; all of names of its own."""
    for number in range(count // 5):
        quota = a_quota(name=f"q-{writer}-{number}")
        quota["metadata"]["labels"] = {"team": "red" if number % 2 else "blue"}
        await api.have(quota)
        name = quota["metadata"]["name"]
        for step, team in enumerate(("blue", "red", "red")):
            labels = {"metadata": {"labels": {"team": team, "step": str(step)}}}
            answer = await api.patch("Quota", "garden-trial", name, labels)
            assert answer.status == 200, answer
        answer = await api.delete("Quota", "garden-trial", name)
        assert answer.status == 200, answer


async def write_all(api: Api, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(write(api, writer, count // WRITERS))


def selected(changes: Sequence[Change], red: Sequence[Change]) -> None:
    """`red` is what a watch of the red ones is to see, if `changes` is everything."""
    last: dict[str, str] = {}
    assert [change[0] for change in red] == sorted({change[0] for change in red})
    everything = {(version, name) for version, _, name in changes}
    assert {(version, name) for version, _, name in red} <= everything
    for _, kind, name in red:
        assert (kind == "ADDED") == (last.get(name, "DELETED") == "DELETED"), (kind, name)
        last[name] = kind


@asynccontextmanager
async def two_replicas(
    etcd: EtcdProcess, directory: Path
) -> AsyncIterator[tuple[ServerProcess, ServerProcess, TcpProxy]]:
    """The first one reaches etcd through the proxy."""
    async with tcp_proxy(etcd.port) as proxy:
        away = ServerProcess(directory / "away", etcd_servers=proxy.endpoint)
        there = ServerProcess(directory / "there", etcd_servers=etcd.endpoint)
        try:
            await asyncio.to_thread(away.start)
            await asyncio.to_thread(there.start)
            yield away, there, proxy
        finally:
            away.stop()
            there.stop()


@pytest.mark.parametrize(
    "writes", [WRITES, pytest.param(MANY_WRITES, marks=pytest.mark.slow)], ids=["some", "many"]
)
@pytest.mark.parametrize("how", ["restarted", "restarted and cut off", "cut off"])
async def test_nobody_lists_again_after_a_replica_was_away(
    tmp_path: Path, own_etcd: EtcdProcess, how: str, writes: int
) -> None:
    informers = [Informer("team=red" if number % 2 else "") for number in range(20)]
    reference = Informer()
    async with (
        two_replicas(own_etcd, tmp_path) as (away, there, proxy),
        away.client() as to_away,
        there.client() as to_there,
    ):
        api = Api(to_there)
        await api.have(a_quota(name="first"))
        running = [asyncio.ensure_future(each.run(to_away)) for each in informers]
        running.append(asyncio.ensure_future(reference.run(to_there)))
        try:
            async with asyncio.timeout(SECONDS):
                while not all(each.lists for each in (*informers, reference)):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            await write_all(api, 20 * WRITERS)
            await caught_up(api, [reference, *informers])
            if how == "cut off":
                await proxy.refuse()
            else:
                await asyncio.to_thread(away.kill9)
            await write_all(api, writes)
            if how == "cut off":
                await proxy.listen()
            else:
                await asyncio.to_thread(away.start)
            if how == "restarted and cut off":
                proxy.cut()
                await proxy.refuse()
                await write_all(api, 20 * WRITERS)
                await proxy.listen()
            await caught_up(api, [reference, *informers])
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    for informer in (*informers, reference):
        assert (informer.faults, informer.lists) == ([], 1)
    assert len(reference.changes) > writes - 5 * WRITERS
    red = next(each for each in informers if each.selector)
    selected(reference.changes, red.changes)
    for informer in informers:
        assert informer.changes == (red if informer.selector else reference).changes
