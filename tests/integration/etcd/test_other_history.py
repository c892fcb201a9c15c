"""An etcd that was restored gives out the same revisions again, with other contents."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from apis.meta.transaction import Committed, OutcomeUnknown, Unavailable
from storage.interface import Expired
from tests.contract.stacks import EtcdStack, etcd_stack
from tests.etcd_process import EtcdProcess
from tests.integration.etcd.helpers import create, update
from tests.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.integration


@asynccontextmanager
async def two_histories(
    etcd: EtcdProcess, directory: Path
) -> AsyncIterator[tuple[EtcdStack, EtcdStack, Callable[[], None]]]:
    """Of an etcd and of another one, which is what the first stack meets once the last is called."""
    twin = EtcdProcess(directory / "twin")
    try:
        twin.start()
        async with (
            tcp_proxy(etcd.port) as proxy,
            etcd_stack(proxy.endpoint) as stack,
            etcd_stack(twin.endpoint) as other,
        ):
            yield stack, other, lambda: proxy.lead_to(twin.port)
    finally:
        twin.stop()


async def test_a_guard_of_another_history_does_not_hold_though_its_revision_does(
    own_etcd: EtcdProcess, tmp_path: Path
) -> None:
    """Both histories have the key at the same revision, which is all that its guard says."""
    async with two_histories(own_etcd, tmp_path) as (stack, other, restore):
        doubts: list[bool] = []
        stack.store.on_doubt = lambda: doubts.append(True)
        seen = await stack.commits.commit(create("key"))
        assert (await other.commits.commit(create("key"))).revision == seen.revision
        restore()

        with pytest.raises((Unavailable, OutcomeUnknown)):
            await stack.commits.commit(update("key", seen.revision))

        assert doubts
        _, found = await other.store.read(["key"])
        assert found["key"].mod_revision == seen.revision
        # Read anew, it is known, and written like any other.
        await stack.store.read(["key"])
        again = await stack.commits.commit(update("key", seen.revision))
        assert isinstance(again, Committed)


async def test_a_watch_does_not_begin_in_another_history_than_what_was_loaded(
    own_etcd: EtcdProcess, tmp_path: Path
) -> None:
    """A backup is restored between a cache's load and its first watch."""
    async with two_histories(own_etcd, tmp_path) as (stack, other, restore):
        for store in (stack, other):
            for number in range(3):
                await store.commits.commit(create(f"key-{number}"))
        loaded = await stack.store.range("")
        for number in range(5):
            await other.commits.commit(create(f"more-{number}"))
        restore()
        stack.store._identity = other.store.identity

        with pytest.raises(Expired):
            await anext(stack.store.events(loaded.revision))

        again = await stack.store.range("")
        await other.commits.commit(create("last"))
        events = stack.store.events(again.revision)
        assert (await anext(events))[1][0].key == "last"
        await events.aclose()


async def test_a_watch_does_not_go_on_in_another_history(
    own_etcd: EtcdProcess, tmp_path: Path
) -> None:
    """The other one is further than what was seen and has the same cluster id, as after
    `etcdctl snapshot restore`: neither would raise suspicion."""
    async with two_histories(own_etcd, tmp_path) as (stack, other, restore):
        seen = await stack.commits.commit(create("key"))
        events = stack.store.events(seen.revision - 1)
        assert (await anext(events))[0] == seen.revision
        await events.aclose()
        for number in range(5):
            await other.commits.commit(create(f"key-{number}", value="x"))
        restore()

        stack.store._identity = other.store.identity
        with pytest.raises(Expired):
            await anext(stack.store.events(seen.revision))


async def test_what_was_before_is_not_told_of_another_history(
    own_etcd: EtcdProcess, tmp_path: Path
) -> None:
    """A watch resumes while the cache has not yet found that a backup was restored."""
    async with two_histories(own_etcd, tmp_path) as (stack, other, restore):
        seen = await stack.commits.commit(create("key"))
        events = stack.store.events(seen.revision - 1)
        assert (await anext(events))[0] == seen.revision
        await events.aclose()
        for number in range(5):
            await other.commits.commit(create(f"key-{number}", value="x"))
        restore()

        stack.store._identity = other.store.identity
        with pytest.raises(Expired):
            await anext(stack.store.replay(seen.revision - 1, seen.revision))
