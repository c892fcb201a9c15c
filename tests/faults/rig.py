"""A whole installation for one scenario: an etcd, replicas, a load, and the reckoning at the end."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests.etcd_process import EtcdProcess
from tests.faults.load import Load, attempt, have_world
from tests.harness.api import Answer, Api, Object
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess

SETTLE_SECONDS = 30
"""More than any write can go on after its client was told 504."""


@dataclass(slots=True)
class Bounds:
    """How long a scenario goes on: `rounds` of its fault, each with a `pause_seconds` of stillness.

    CI's are small, soak's are not.
    """

    rounds: int = 2
    pause_seconds: float = 3.0
    clients: int = 12
    seed: int = 1
    say: Callable[[str], None] = lambda _text: None


@dataclass(slots=True)
class Rig:
    """`servers` speak to `etcd_servers`; `etcd_urls` are what an auditor is shown, no proxy between."""

    servers: Sequence[ServerProcess]
    sessions: Sequence[aiohttp.ClientSession]
    etcd_url: str
    bounds: Bounds
    tolerated: tuple[str, ...] = ()
    _loads: int = field(default=0)

    @property
    def apis(self) -> Sequence[Api]:
        return [Api(session) for session in self.sessions]

    @asynccontextmanager
    async def load(self) -> AsyncIterator[Load]:
        """Clients work while the block runs; afterwards everything they were told is checked."""
        async with self.unreckoned_load() as load:
            yield load
        await self._settle()
        for number, api in enumerate(self.apis):
            mine = [
                shoot
                for shoot in await api.items("Shoot")
                if shoot["metadata"]["name"].startswith(f"{load.run}-")
            ]
            problems = load.promises.reconcile(mine)
            assert not problems, (f"replica {number}", problems[:20], load.promises.summary())
        await self._agree()
        await self.empty()

    @asynccontextmanager
    async def unreckoned_load(self) -> AsyncIterator[Load]:
        """Clients whose objects are somebody else's to reckon with, or nobody's."""
        self._loads += 1
        load = Load(
            self.apis,
            seed=self.bounds.seed + self._loads,
            clients=self.bounds.clients,
            run=f"r{self._loads}",
        )
        async with load.running():
            yield load
        self.bounds.say(load.promises.summary())

    async def _settle(self) -> None:
        """Wait for replicas, and for writes whose clients were told that nobody knows."""
        await self.ready()
        async with asyncio.timeout(SETTLE_SECONDS):
            while any([await writes_running(session) for session in self.sessions]):
                await asyncio.sleep(0.1)  # another process: there is nothing to wait on

    async def ready(self) -> None:
        for server in self.servers:
            await asyncio.to_thread(server.wait_ready, 60)

    async def _agree(self) -> None:
        """What each replica's cache holds is what etcd holds."""
        for path in ("shoots", "quotas", "quotausages", "crosssecretbindings"):
            for number, api in enumerate(self.apis):
                newest, cached = (
                    await _versions(api, path),
                    await _versions(api, f"{path}?resourceVersion=0"),
                )
                for _ in range(50):
                    if newest == cached:
                        break
                    await asyncio.sleep(0.1)  # another process: there is nothing to wait on
                    newest, cached = (
                        await _versions(api, path),
                        await _versions(api, f"{path}?resourceVersion=0"),
                    )
                assert newest == cached, f"the cache of replica {number} differs in {path}"

    async def empty(self) -> None:
        """Delete every shoot; the ledgers must come to nothing."""
        api = self.apis[0]
        shoots = await api.items("Shoot")
        for start in range(0, len(shoots), 20):
            answers = await asyncio.gather(
                *(self._surely_delete(shoot) for shoot in shoots[start : start + 20])
            )
            assert {answer.status for answer in answers} <= {200, 404}, answers
        for api in self.apis:
            assert await api.items("Shoot") == []
            assert await api.items("QuotaUsage") == []
            assert set((await api.used("garden-trial", "total")).values()) == {"0"}

    async def _surely_delete(self, shoot: Object) -> Answer:
        api = self.apis[0]
        outcome: object = None
        for _ in range(20):
            outcome = await attempt(api.delete_object(shoot))
            if isinstance(outcome, Answer) and outcome.status not in {429, 503, 504}:
                return outcome
            await asyncio.sleep(0.5)
        raise AssertionError(f"cannot delete {shoot['metadata']['name']}: {outcome}")

    def audit(self) -> dict[str, int]:
        """Every revision that etcd still has."""
        return assert_exact(self.etcd_url)

    def check_logs(self) -> None:
        for server in self.servers:
            log = server.log()
            for line in self.tolerated:
                log = log.replace(line, "")
            assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:5000]


@asynccontextmanager
async def rig(
    etcd_url: str,
    bounds: Bounds,
    *,
    replicas: int = 1,
    etcd_servers: Sequence[str] = (),
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    room: int = 60,
) -> AsyncIterator[Rig]:
    """Replicas with the world in place. `etcd_servers`: what each replica is told of etcd.

    On leaving, every revision is audited and logs are searched for faults.
    """
    async with AsyncExitStack() as ending:
        directory = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        sessions = []
        servers = [
            ServerProcess(
                directory / f"replica-{number}",
                etcd_servers=etcd_servers[number] if etcd_servers else etcd_url,
                arguments=arguments,
                environment=environment,
            )
            for number in range(replicas)
        ]
        for server in servers:
            ending.callback(server.kill9)
            await asyncio.to_thread(server.start)
        for server in servers:
            session = await ending.enter_async_context(server.client())
            # A client that repeats a DELETE by itself cannot be told what became of the first.
            session._retry_connection = False
            sessions.append(session)
        built = Rig(servers, sessions, etcd_url, bounds)
        await have_world(built.apis[0], room=room)
        yield built
        # First, since they compact what the auditor is about to read.
        for server in servers:
            await asyncio.to_thread(server.stop)
        built.check_logs()
        await asyncio.to_thread(built.audit)


@asynccontextmanager
async def one_etcd(**options: object) -> AsyncIterator[EtcdProcess]:
    """An etcd of the scenario's own."""
    with tempfile.TemporaryDirectory(prefix="faults-etcd-") as directory:
        etcd = EtcdProcess(Path(directory), **options)  # type: ignore[arg-type]  # its own options
        try:
            await asyncio.to_thread(etcd.start)
            yield etcd
        finally:
            etcd.resume_if_paused()
            etcd.stop()


async def writes_running(session: aiohttp.ClientSession) -> int:
    return int((await metrics(session))["quotaapi_writes_running"])


async def metrics(session: aiohttp.ClientSession) -> dict[str, float]:
    """The server's numbers, by name and labels as they are written."""
    async with session.get("/metrics") as answer:
        text = await answer.text()
    assert answer.status == 200, text
    lines = (line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#")
    return {name: float(value) for name, _, value in lines}


async def _versions(api: Api, path: str) -> dict[str, str]:
    answer = await api.request("GET", path)
    assert answer.status == 200, answer
    return {
        f"{obj['metadata']['namespace']}/{obj['metadata']['name']}": obj["metadata"][
            "resourceVersion"
        ]
        for obj in answer.body["items"]
    }
