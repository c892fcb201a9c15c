"""Transactions, evidence and an embedded etcd that several of these tests need."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from apis.meta.keys import INTERNAL
from apis.meta.transaction import Put, Transaction
from storage.etcd import wire
from storage.etcd.embedded import EmbeddedEtcd
from storage.etcd.store import EtcdStore
from storage.etcd.watch import RawRevision
from tests.etcd_process import BINARIES


def body(value: str = "x") -> bytes:
    return b'{"apiVersion":"v1","kind":"T","metadata":{"name":"%b"}}' % value.encode()


def create(*keys: str, value: str = "x") -> Transaction:
    """Put keys that must not exist."""
    return Transaction(dict.fromkeys(keys, 0), [Put(key, body(value)) for key in keys])


def update(key: str, revision: int, value: str = "y") -> Transaction:
    return Transaction({key: revision}, [Put(key, body(value))])


async def until(condition: Callable[[], bool]) -> None:
    """Give others turns until `condition` holds."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  # what is waited for is a counter, not an event
            await asyncio.sleep(0.01)


async def history(store: EtcdStore, after: int) -> list[RawRevision]:
    """All revisions under the prefix after `after` up to now, as etcd delivers them."""
    newest = await store.mark_progress()
    seen: list[RawRevision] = []
    async with asyncio.timeout(10), aclosing(store.raw_events(after)) as revisions:
        async for revision in revisions:
            if revision[0] >= newest:
                return seen
            if revision[1]:
                seen.append(revision)
    raise AssertionError("the watch ended")


async def writes(store: EtcdStore, after: int) -> list[int]:
    """The revisions of `history` that are of more than this server's own bookkeeping."""
    return [
        revision
        for revision, events in await history(store, after)
        if any(
            not store.relative_key(wire.unb64(event["kv"]["key"])).startswith(INTERNAL)
            for event in events
        )
    ]


ENVIRONMENTS: dict[str, dict[str, str]] = {
    name: {**os.environ, "QUOTAAPI_ETCD": binary} for name, binary in sorted(BINARIES.items())
}
ENVIRONMENT = next(iter(ENVIRONMENTS.values()))


@asynccontextmanager
async def embedded(directory: Path, environment: dict[str, str]) -> AsyncIterator[EmbeddedEtcd]:
    etcd = EmbeddedEtcd(directory, environment=environment)
    await etcd.start()
    running = asyncio.ensure_future(etcd.run())
    try:
        yield etcd
    finally:
        await etcd.stop()
        await running
