"""The watch cache on a real etcd: two processes' worth of it, resumption, outages, compaction."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from apis.meta.keys import quota_references_key
from apis.meta.transaction import Conflict, Delete, Header, Put, Transaction
from storage.interface import Expired, ListOptions
from storage.stack import Stack
from storage.versioner import list_version, version
from tests.contract.stacks import EtcdStack, etcd_stack
from tests.etcd_process import EtcdProcess
from tests.storage_kit import (
    SHOOTS,
    a_body,
    a_put,
    creating,
    deleting,
    running,
    shoot_key,
    take,
    versions,
)
from tests.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.integration


@dataclass(frozen=True, slots=True)
class Replica:
    """What one server process has."""

    etcd: EtcdStack
    stack: Stack


@asynccontextmanager
async def a_replica(endpoint: str, prefix: str = "/registry") -> AsyncIterator[Replica]:
    async with (
        etcd_stack(endpoint, prefix=prefix) as etcd,
        running(etcd.store, etcd.commits.commit) as stack,
    ):
        yield Replica(etcd, stack)


async def test_a_watch_resumes_at_every_version_of_a_multi_object_transaction(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    keys = [shoot_key(f"s-{number}") for number in range(6)]
    ledger = quota_references_key("garden-core", "q")
    async with (
        a_replica(etcd_process.endpoint, prefix) as writer,
        a_replica(etcd_process.endpoint, prefix) as reader,
    ):
        start = await reader.stack.reader.current_version()
        create = creating(*keys, ledger)
        first = await writer.stack.transactor.commit(create)
        change = Transaction(
            dict.fromkeys([*keys, ledger], first.revision),
            [
                Delete(keys[1]),
                a_put(keys[0]),
                Put(ledger, a_body(ledger)),
                Delete(keys[4]),
                a_put(keys[2]),
            ],
        )
        second = await writer.stack.transactor.commit(change)
        told = {record.resource_version for key, record in first.records.items() if key != ledger}
        told |= {record.resource_version for key, record in second.records.items() if key != ledger}
        told |= set(second.deleted.values())
        end = await reader.stack.reader.current_version()
        for since in sorted({start, list_version(first.revision), end} | told):
            later = [each for each in sorted(told) if each > since]
            async with reader.stack.reader.watch(SHOOTS, since, None) as watch:
                assert versions(await take(watch, len(later))) == later
                assert await watch.next(0) == []


async def test_consistent_reads_of_one_replica_see_the_writes_of_the_other(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        a_replica(etcd_process.endpoint, prefix) as writer,
        a_replica(etcd_process.endpoint, prefix) as reader,
    ):
        for number in range(20):
            key = shoot_key(f"s-{number}")
            committed = await writer.stack.transactor.commit(creating(key))
            assert await reader.stack.reader.get(key) == committed.records[key]
            page = await reader.stack.reader.list(SHOOTS, ListOptions())
            assert len(page.records) == number + 1


async def _count(replica: Replica, ledger: str, times: int) -> int:
    """Add to a counter as admission does: claim, newest, commit; again on a conflict."""
    conflicts = 0
    transactor = replica.stack.transactor
    for _ in range(times):
        while True:
            async with transactor.claim_object(ledger):
                seen = (await transactor.newest([ledger]))[ledger]
                count = (seen.record.header.count or 0) if seen.record is not None else 0
                put = Put(ledger, b"{}", Header(count=count + 1))
                try:
                    await transactor.commit(Transaction({ledger: seen.mod_revision}, [put]))
                    break
                except Conflict:
                    conflicts += 1
    return conflicts


async def test_writers_of_one_replica_never_conflict_and_lose_no_update(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    ledger = quota_references_key("garden-core", "q")
    async with a_replica(etcd_process.endpoint, prefix) as replica:
        conflicts = await asyncio.gather(*(_count(replica, ledger, 10) for _ in range(8)))
        _, found = await replica.etcd.store.read([ledger])
        record = found[ledger].record
        assert record is not None
        assert record.header.count == 80
        assert sum(conflicts) == 0


async def test_writers_of_two_replicas_lose_no_update(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    ledger = quota_references_key("garden-core", "q")
    async with (
        a_replica(etcd_process.endpoint, prefix) as one,
        a_replica(etcd_process.endpoint, prefix) as other,
    ):
        await asyncio.gather(*(_count(replica, ledger, 10) for replica in (one, other) * 3))
        _, found = await one.etcd.store.read([ledger])
        record = found[ledger].record
        assert record is not None
        assert record.header.count == 60


@pytest.mark.slow
async def test_a_watch_outlives_a_crash_of_etcd(own_etcd: EtcdProcess) -> None:
    async with (
        a_replica(own_etcd.endpoint) as replica,
        replica.stack.reader.watch(SHOOTS, 0, None) as watch,
    ):
        commit = replica.stack.transactor.commit
        first = await commit(creating(shoot_key("before")))
        own_etcd.kill()
        own_etcd.start()
        second = await commit(creating(shoot_key("after")))
        expected = [version(each.revision, 0) for each in (first, second)]
        assert versions(await take(watch, 2, 20.0)) == expected
        assert replica.stack.reflector.loads == 1


async def test_compaction_during_a_watch_loses_nothing(own_etcd: EtcdProcess) -> None:
    async with (
        a_replica(own_etcd.endpoint) as replica,
        replica.stack.reader.watch(SHOOTS, 0, None) as watch,
    ):
        commit = replica.stack.transactor.commit
        told = [(await commit(creating(shoot_key("first")))).revision]
        # The stream is open once something has come through it.
        assert len(await take(watch, 1)) == 1
        for number in range(10):
            told.append((await commit(creating(shoot_key(f"s-{number}")))).revision)
            await replica.etcd.store.compact(told[-1])
        expected = [version(revision, 0) for revision in told]
        assert versions(await take(watch, 10)) == expected[1:]
        async with replica.stack.reader.watch(SHOOTS, expected[0], None) as resumed:
            assert versions(await take(resumed, 10)) == expected[1:]


async def test_events_compacted_during_an_outage_expire_watchers_and_are_in_the_new_state(
    own_etcd: EtcdProcess,
) -> None:
    key = shoot_key("x")
    async with (
        tcp_proxy(own_etcd.port) as proxy,
        a_replica(proxy.endpoint) as replica,
        etcd_stack(own_etcd.endpoint) as other,
        replica.stack.reader.watch(SHOOTS, 0, None) as watch,
    ):
        created = await other.commits.commit(creating(key))
        assert versions(await watch.next(10)) == [version(created.revision, 0)]
        await proxy.refuse()
        await other.commits.commit(deleting(key, created.revision))
        again = await other.commits.commit(creating(key))
        await other.store.compact(again.revision)
        await proxy.listen()
        with pytest.raises(Expired):
            await watch.next(20)
        assert await replica.stack.reader.get(key) == again.records[key]
        since = version(created.revision, 0)
        async with replica.stack.reader.watch(SHOOTS, since, None) as late:
            with pytest.raises(Expired):
                await late.next(20)


async def test_a_connection_that_is_cut_is_resumed_without_loss(own_etcd: EtcdProcess) -> None:
    async with (
        tcp_proxy(own_etcd.port) as proxy,
        a_replica(proxy.endpoint) as replica,
        etcd_stack(own_etcd.endpoint) as other,
        replica.stack.reader.watch(SHOOTS, 0, None) as watch,
    ):
        expected: list[int] = []
        for number in range(8):
            proxy.cut()
            committed = await other.commits.commit(creating(shoot_key(f"s-{number}")))
            expected.append(version(committed.revision, 0))
        assert versions(await take(watch, 8, 20.0)) == expected
        assert replica.stack.reflector.loads == 1
