"""A server and an etcd of its own for one measurement, and populations that are made once."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hack.bench import world, wrk
from hack.bench.processes import cpu_seconds
from hack.bench.scale import Scale
from tests.etcd_process import EtcdProcess
from tests.harness.api import Api
from tests.harness.etcd import Counters, assert_exact, counters, running_etcd
from tests.harness.server import ServerProcess

LOADED = "load"
"""What the names of a population's shoots begin with: `load-1-1` and so on."""

_LOAD_CONNECTIONS = 100
_LOAD_SECONDS = 600
_SETTLE_SECONDS, _SETTLE_TURNS = 0.5, 120
_AT_REST = 0.1
"""Share of a core that a server takes which has nothing to do, at most."""


@dataclass(frozen=True, slots=True)
class Installation:
    etcd: EtcdProcess
    server: ServerProcess

    def counters(self) -> Counters:
        return counters(self.etcd.endpoint)

    def server_cpu(self) -> float:
        return cpu_seconds(self.server.pid)

    def etcd_cpu(self) -> float:
        return cpu_seconds(self.etcd.pid)

    def settle(self) -> None:
        """Wait until the server is at rest: after its start it recounts what it has found."""
        for _ in range(_SETTLE_TURNS):
            before = self.server_cpu()
            time.sleep(_SETTLE_SECONDS)  # another process: there is nothing to wait on
            if self.server_cpu() - before < _SETTLE_SECONDS * _AT_REST:
                return
        raise RuntimeError("the server does not come to rest")

    def metric(self, name: str) -> float:
        """One of the server's own counters."""
        for line in self.server.request("GET", "/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        raise LookupError(name)

    def with_api(self, work: Callable[[Api], Awaitable[None]]) -> None:
        async def run() -> None:
            async with self.server.client() as session:
                await work(Api(session))

        asyncio.run(run())

    def prepare(self, *, quota: bool = True) -> None:
        self.with_api(lambda api: world.prepare(api, quota=quota))

    def audit(self, *, since: int = 0) -> None:
        """Every balance at every revision from `since` on (0: the oldest); raises where one is wrong."""
        assert_exact(self.etcd.endpoint, "--from-revision", str(since))


@contextmanager
def installation(
    data: Path | None = None,
    *,
    arguments: Sequence[str] = (),
    program: Sequence[str] = ("-m", "quotaapi"),
    environment: Mapping[str, str] | None = None,
    start: bool = True,
) -> Iterator[Installation]:
    """`data`: of an etcd that is copied first. Without `start` the server is for the caller to start."""
    with tempfile.TemporaryDirectory(prefix="quotaapi-bench-") as name:
        directory = Path(name)
        if data is not None:
            shutil.copytree(data, directory / "etcd" / "data")
        server_directory = directory / "server"
        with running_etcd(directory / "etcd") as etcd:
            server = ServerProcess(
                server_directory,
                etcd_servers=etcd.endpoint,
                tokens={wrk.TOKEN: "bench"},
                arguments=arguments,
                program=program,
                environment=environment,
            )
            try:
                if start:
                    server.start()
                made = Installation(etcd, server)
                if start and data is not None:
                    made.settle()
                yield made
            finally:
                server.stop()


@dataclass(slots=True)
class Populations:
    """etcd data directories with so many shoots and a few more, made as clients make them."""

    directory: Path
    _made: dict[int, Path] = field(default_factory=dict)

    def data(self, shoots: int) -> Path | None:
        """None for no shoots at all."""
        if not shoots:
            return None
        if shoots not in self._made:
            self._made[shoots] = self._make(shoots)
        return self._made[shoots]

    def _make(self, shoots: int) -> Path:
        kept = self.directory / str(shoots)
        with installation() as made:
            made.prepare()
            load = wrk.create(
                made.server,
                run=LOADED,
                connections=_LOAD_CONNECTIONS,
                seconds=_LOAD_SECONDS,
                # Each connection has one that is not answered when the load ends; those must not
                # be among the first, which are looked for by name.
                limit=shoots + 2 * _LOAD_CONNECTIONS,
            )
            if load.requests < shoots:
                raise RuntimeError(f"the population was not made: {load}")
            made.server.stop()
            made.audit()
            made.etcd.stop()
            shutil.copytree(made.etcd.data_directory, kept)
        return kept


@dataclass(frozen=True, slots=True)
class Bench:
    """What every section measures with."""

    scale: Scale
    populations: Populations
    say: Callable[[str], None]
