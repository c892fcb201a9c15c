"""Three etcd members whose connections to each other pass through proxies, so that one can be cut off.

A member dials the others at their advertised addresses, which are the proxies'. Its requests name
it (`X-Server-From`), so that a proxy knows both ends of a connection.
"""

import asyncio
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.etcd_process import BINARIES
from tests.faults.chaos_proxy import ChaosProxy, chaos_proxy
from tests.harness.ports import free_port

_START_SECONDS = 30.0


@dataclass(slots=True)
class Member:
    name: str
    directory: Path
    port: int
    peer_port: int
    proxy: ChaosProxy
    process: subprocess.Popen[bytes] | None = None
    id: int = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def status(self) -> dict[str, str]:
        """Empty where it does not answer."""
        try:
            with requests.Session() as session:
                session.trust_env = False
                url = f"{self.endpoint}/v3/maintenance/status"
                answer: dict[str, str] = session.post(url, json={}, timeout=1).json()
        except (requests.RequestException, ValueError):
            return {}
        self.id = int(answer["header"]["member_id"])  # type: ignore[index]  # an object inside
        return answer


class Cluster:
    def __init__(self, members: list[Member]) -> None:
        self.members = members
        self._away: Member | None = None

    @property
    def endpoints(self) -> str:
        return ",".join(member.endpoint for member in self.members)

    def launch(self, member: Member) -> None:
        peers = ",".join(f"{each.name}={each.proxy.endpoint}" for each in self.members)
        member.directory.mkdir(parents=True, exist_ok=True)
        with (member.directory / "log").open("ab") as log:
            member.process = subprocess.Popen(
                [
                    next(iter(BINARIES.values())),
                    f"--name={member.name}",
                    f"--data-dir={member.directory / 'data'}",
                    f"--listen-client-urls={member.endpoint}",
                    f"--advertise-client-urls={member.endpoint}",
                    f"--listen-peer-urls=http://127.0.0.1:{member.peer_port}",
                    f"--initial-advertise-peer-urls={member.proxy.endpoint}",
                    f"--initial-cluster={peers}",
                    "--log-level=warn",
                    "--heartbeat-interval=100",
                    "--election-timeout=1000",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    async def leader(self, *, besides: Member | None = None) -> Member:
        """The member that all others that answer take for their leader."""
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            found = await asyncio.to_thread(self._leader, besides)
            if found is not None:
                return found
            await asyncio.sleep(0.1)
        raise AssertionError("the members have no leader")

    def _leader(self, besides: Member | None) -> Member | None:
        members = [m for m in self.members if m.alive and m is not besides]
        told = {int(m.status().get("leader", 0)) for m in members}
        if len(told) != 1:
            return None
        leader = told.pop()
        return next((m for m in members if m.id == leader), None)

    def isolate(self, member: Member) -> None:
        """Cut it off from the others, in both directions; clients still reach it."""
        name = f"X-Server-From: {member.id:x}".lower().encode()

        def from_it(head: bytes) -> bool:
            return name in head.lower()

        for each in self.members:
            each.proxy.is_blocked = (lambda _head: True) if each is member else from_it
            each.proxy.cut_blocked()

    def heal(self) -> None:
        for each in self.members:
            each.proxy.is_blocked = lambda _head: False

    def stop(self) -> None:
        for member in self.members:
            if member.alive:
                member.signal(signal.SIGCONT)
            member.kill()


@asynccontextmanager
async def three_members(directory: Path, seed: int) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as ending:
        members = []
        for number in range(3):
            port, peer_port = free_port(), free_port()
            proxy = await ending.enter_async_context(chaos_proxy(peer_port, seed=seed))
            name = f"m{number}"
            members.append(Member(name, directory / name, port, peer_port, proxy))
        cluster = Cluster(members)
        ending.callback(cluster.stop)
        for member in members:
            cluster.launch(member)
        await cluster.leader()
        yield cluster
