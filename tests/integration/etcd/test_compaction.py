"""Compaction by one replica out of several."""

import asyncio
import logging

import pytest

from storage.etcd.compaction import MARKER_KEY, Compaction
from storage.interface import Expired
from tests.contract.stacks import EtcdStack, etcd_stack
from tests.etcd_process import EtcdProcess
from tests.integration.etcd.helpers import create, update

pytestmark = pytest.mark.integration


def compaction(stack: EtcdStack) -> Compaction:
    return Compaction(stack.store, stack.commits.commit)


async def test_a_round_compacts_to_where_the_store_was_a_round_ago(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint) as stack:
        compactor = compaction(stack)
        await compactor.round()
        await compactor.round()
        first = await stack.commits.commit(create("a"))
        between = (await stack.store.current_revision()) - 1
        assert (await stack.store.range("", revision=between)).records
        await compactor.round()
        assert compactor.compacted_revision == between
        with pytest.raises(Expired):
            await stack.store.range("", revision=between - 1)
        found = (await stack.store.range("", revision=first.revision)).records
        assert {"a", MARKER_KEY} <= {record.key for record in found}


async def test_of_two_replicas_one_compacts(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint) as one, etcd_stack(own_etcd.endpoint) as two:
        replicas = [compaction(one), compaction(two)]
        for _ in range(4):
            for replica in replicas:
                await replica.round()
            await one.commits.commit(create(f"k{await one.store.current_revision()}"))
        assert replicas[0].compacted_revision > 0
        assert replicas[1].compacted_revision == 0


async def test_another_replica_takes_over_when_the_first_is_gone(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint) as one, etcd_stack(own_etcd.endpoint) as two:
        first, second = compaction(one), compaction(two)
        for _ in range(3):
            await first.round()
            await second.round()
        left_at = (await one.store.read([".internal/compaction"]))[1]
        await second.round()
        assert second.compacted_revision == left_at[".internal/compaction"].mod_revision


async def test_nothing_younger_than_an_interval_is_compacted(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint) as stack:
        compactor = compaction(stack)
        for _ in range(3):
            await compactor.round()
        first = await stack.commits.commit(create("a"))
        await stack.commits.commit(update("a", first.revision))
        await compactor.round()
        page = await stack.store.range("a", revision=first.revision)
        assert list(page.records) == [first.records["a"]]


async def test_an_etcd_that_is_away_puts_a_round_off(
    own_etcd: EtcdProcess, caplog: pytest.LogCaptureFixture
) -> None:
    rounds: asyncio.Queue[None] = asyncio.Queue()
    go_on = asyncio.Semaphore(0)

    async def sleep(_: float) -> None:
        rounds.put_nowait(None)
        await go_on.acquire()

    async with etcd_stack(own_etcd.endpoint) as stack:
        compactor = Compaction(stack.store, stack.commits.commit, sleep=sleep)
        own_etcd.kill()
        with caplog.at_level(logging.WARNING):
            running = asyncio.ensure_future(compactor.run())
            await rounds.get()
        assert "compaction is put off" in caplog.text
        await asyncio.to_thread(own_etcd.start)
        for _ in range(3):
            go_on.release()
            await rounds.get()
        assert compactor.compacted_revision > 0
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
