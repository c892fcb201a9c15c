"""A whole installation for one scenario: an etcd, replicas, a load, and the reckoning at the end."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests.etcd_process import EtcdProcess
from tests.faults.footprint import footprint, metrics
from tests.faults.load import Load, attempt, have_world
from tests.harness.api import Answer, Api, Object
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess

FIGURES = {
    "txns": "quotaapi_etcd_txns_total",
    "failed compares": "quotaapi_etcd_failed_compares_total",
    "lost answers": "quotaapi_etcd_lost_answers_total",
    "admitted": "quotaapi_admission_admitted_total",
    "refused": "quotaapi_admission_refused_total",
    "evaluated again": "quotaapi_admission_conflicts_total",
    "expired": "quotaapi_admission_expired_total",
    "cache loads": "quotaapi_cache_loads_total",
}

ROOMY = (f"--quota-backend-bytes={8 << 30}",)
"""An etcd's arguments with which it holds ten minutes of heavy load without being full."""

SETTLE_SECONDS = 30
"""More than any write can go on after its client was told 504."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The sizes of a scenario; each uses those that it has a use for.

    `rounds` of its fault, each with a `pause_seconds` of stillness, while `clients` work, for
    `load_seconds` at least. `shoots` are those of each of `projects`. `writes` are spread over
    the rounds that its scenario fixes. `window`: the events that a server keeps for resuming.
    `listers` ask for a list of so many `objects` at once.
    `patrol_seconds`: between two audits of what has been written since the one before; 0: one at the end.
    """

    rounds: int = 2
    pause_seconds: float = 3.0
    clients: int = 12
    load_seconds: float = 0.0
    watchers: int = 40
    projects: int = 5
    shoots: int = 10
    writes: int = 2_400
    window: int = 200
    connections: int = 300
    listers: int = 60
    objects: int = 5_000
    patrol_seconds: float = 0.0
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
    _audited: int = field(default=0)
    """The revision up to which every one has been audited."""

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
        self.bounds.say(load.summary())

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
            if isinstance(outcome, Answer) and outcome.status not in {429, 503, 504, 507}:
                return outcome
            await asyncio.sleep(0.5)
        raise AssertionError(f"cannot delete {shoot['metadata']['name']}: {outcome}")

    def audit(self) -> dict[str, int]:
        """Every revision that etcd still has and that no patrol has audited."""
        since = ("--from-revision", str(self._audited)) if self._audited else ()
        return assert_exact(self.etcd_url, *since)

    @asynccontextmanager
    async def patrolled(self) -> AsyncIterator[None]:
        """While the block runs, audit what it writes before it is compacted."""
        if not self.bounds.patrol_seconds:
            yield
            return
        async with asyncio.TaskGroup() as group:
            patrol = group.create_task(self._patrol())
            yield
            patrol.cancel()

    async def _patrol(self) -> None:
        revisions = changes = 0
        try:
            while True:
                await asyncio.sleep(self.bounds.patrol_seconds)
                found = await asyncio.to_thread(self.audit)
                self._audited = found["lastRevision"]
                revisions += found["revisions"]
                changes += found["changes"]
        finally:
            self.bounds.say(f"patrol: {revisions} revisions, {changes} changes were exact")

    async def figures(self) -> str:
        """What each replica counted, and what it takes."""
        told = []
        for number, server in enumerate(self.servers):
            # A new session: faults leave connections behind that are closed at the other end.
            async with server.client() as session:
                found = await metrics(session)
                size = await footprint(session, server.pid)
            counted = (f"{what} {found[name]:.0f}" for what, name in FIGURES.items())
            lag = found["quotaapi_event_loop_lag_seconds_max"] * 1000
            told.append(f"replica {number}: {', '.join(counted)}, lag {lag:.0f} ms, {size.text()}")
        return "; ".join(told)

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
            places = max(100, bounds.clients + bounds.watchers + 20)
            session = await ending.enter_async_context(server.client(connections=places))
            # A client that repeats a DELETE by itself cannot be told what became of the first.
            session._retry_connection = False
            sessions.append(session)
        built = Rig(servers, sessions, etcd_url, bounds)
        await have_world(built.apis[0], room=room)
        bounds.say(await built.figures())
        yield built
        await built.ready()
        bounds.say(await built.figures())
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


async def _versions(api: Api, path: str) -> dict[str, str]:
    answer = await api.request("GET", path)
    assert answer.status == 200, answer
    return {
        f"{obj['metadata']['namespace']}/{obj['metadata']['name']}": obj["metadata"][
            "resourceVersion"
        ]
        for obj in answer.body["items"]
    }
