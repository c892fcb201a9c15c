"""What the storage contract is run against: a backend and what commits to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from apis.meta.transaction import Committed, Transaction
from storage.etcd.client import Client
from storage.etcd.group_commit import GroupCommit
from storage.etcd.store import EtcdStore
from storage.interface import Backend
from tests.fakes.memory_backend import MemoryBackend

PROGRESS_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Stack:
    backend: Backend
    commit: Callable[[Transaction], Awaitable[Committed]]
    compact: Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class EtcdStack:
    """The real thing, with its parts for tests that look inside."""

    client: Client
    store: EtcdStore
    commits: GroupCommit

    @property
    def contract(self) -> Stack:
        return Stack(self.store, self.commits.commit, self.store.compact)


@asynccontextmanager
async def etcd_stack(
    *endpoints: str,
    prefix: str = "/registry",
    progress_seconds: float = PROGRESS_SECONDS,
    attempt_seconds: float = 1.0,
    deadline_seconds: float = 10.0,
    **options: object,
) -> AsyncIterator[EtcdStack]:
    client = Client(endpoints, timeout_seconds=2.0, aside_seconds=1.0)
    store = EtcdStore(client, prefix=prefix, progress_seconds=progress_seconds)
    commits = GroupCommit(
        store,
        attempt_seconds=attempt_seconds,
        deadline_seconds=deadline_seconds,
        **options,  # type: ignore[arg-type]
    )
    running = asyncio.ensure_future(commits.run())
    try:
        yield EtcdStack(client, store, commits)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await client.close()


@asynccontextmanager
async def memory_stack() -> AsyncIterator[Stack]:
    backend = MemoryBackend()

    async def compact(revision: int) -> None:
        backend.compact(revision)

    yield Stack(backend, backend.commit, compact)
