"""Watches of a real etcd: what they deliver, and how a watch that lies is found out."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from apis.meta.keys import INTERNAL
from apis.meta.transaction import Delete, Put, Record, Transaction, Unavailable
from storage.etcd import wire
from storage.etcd.store import PROGRESS_KEY, EtcdStore
from storage.interface import Expired, RawEvent, UnreadableRecord
from tests.contract.stacks import etcd_stack
from tests.etcd_process import EtcdProcess
from tests.integration.etcd.helpers import body, create, update
from tests.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.integration

FENCES = INTERNAL + "fences/"
"""What every commit writes for itself."""

Batch = tuple[int, Sequence[RawEvent]]


@asynccontextmanager
async def watching(store: EtcdStore, after: int) -> AsyncIterator[AsyncIterator[Batch]]:
    async with asyncio.timeout(20), aclosing(store.events(after)) as events:
        yield aiter(events)


def told(batch: Batch) -> tuple[int, list[RawEvent]]:
    """A batch without the server's own bookkeeping."""
    revision, events = batch
    return revision, [event for event in events if not event.key.startswith(INTERNAL)]


async def read_on(events: AsyncIterator[Batch]) -> None:
    """Until it ends."""
    async for _ in events:
        pass


async def test_an_idle_watch_reports_progress_to_the_current_revision(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        revision = (await stack.commits.commit(create("a"))).revision
        async with watching(stack.store, revision) as events:
            assert await anext(events) == (revision, [])


async def test_another_tenants_writes_become_progress_by_a_marker(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        etcd_stack(etcd_process.endpoint, prefix=prefix) as stack,
        etcd_stack(etcd_process.endpoint, prefix=f"{prefix}-other") as tenant,
    ):
        start = await stack.store.current_revision()
        async with watching(stack.store, start) as events:
            assert await anext(events) == (start, [])
            foreign = (await tenant.commits.commit(create("a"))).revision
            while (batch := await anext(events))[0] < foreign:
                pass
            assert [event.key for event in batch[1]] == [PROGRESS_KEY]


async def test_an_etcd_of_its_own_is_never_written_to_by_a_watch(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint, progress_seconds=0.05) as stack:
        start = (await stack.commits.commit(create("a"))).revision
        async with watching(stack.store, start) as events:
            for _ in range(5):
                assert await anext(events) == (start, [])
        assert await stack.store.current_revision() == start


async def test_a_long_history_comes_in_messages_of_bounded_size_and_revisions_are_whole(
    own_etcd: EtcdProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[int] = []
    decode = wire.decode

    def noting(line: bytes) -> wire.Message:
        lines.append(len(line))
        message: wire.Message = decode(line)
        return message

    async with etcd_stack(own_etcd.endpoint, progress_seconds=10) as stack:
        value = b'{"text":"%s"}' % (b"x" * 10_000)
        start = await stack.store.current_revision()
        written = {}
        for number in range(60):
            # Of an odd number of bytes, so that a piece ends in the midst of a revision.
            puts = [Put(f"key-{number}-{each}", value) for each in range(17)]
            committed = await stack.commits.commit(Transaction({put.key: 0 for put in puts}, puts))
            written[committed.revision] = [put.key for put in puts]
        monkeypatch.setattr(wire, "decode", noting)
        async with watching(stack.store, start) as events:
            seen: dict[int, list[str]] = {}
            while len(seen) < len(written):
                revision, batch = told(await anext(events))
                seen[revision] = [event.key for event in batch]

    assert seen == written
    assert max(lines) < 4_000_000
    assert sum(lines) > 3 * max(lines)


async def test_a_watch_that_stalls_is_cut_and_resumes_without_loss(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, progress_seconds=0.2) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as writer,
    ):
        start = await stack.store.current_revision()
        async with watching(stack.store, start) as events:
            assert await anext(events) == (start, [])
            proxy.stall()
            written = await writer.commits.commit(create("a"))
            with pytest.raises(Unavailable):
                await read_on(events)
        proxy.flow()
        async with watching(stack.store, start) as events:
            revision, [event] = told(await anext(events))
        assert (revision, event.record) == (written.revision, written.records["a"])


async def test_a_watch_that_alone_is_stuck_is_found_out(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    """Its connection stalls, while requests on others are answered."""
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(
            proxy.endpoint, etcd_process.endpoint, prefix=prefix, progress_seconds=0.2
        ) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as writer,
    ):
        start = await writer.store.current_revision()
        async with watching(stack.store, start) as events:
            assert await anext(events) == (start, [])
            proxy.stall()
            await writer.commits.commit(create("a"))
            with pytest.raises(Unavailable, match="silent"):
                await read_on(events)


async def test_a_watch_that_breaks_says_so(etcd_process: EtcdProcess, prefix: str) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        start = await stack.store.current_revision()
        async with watching(stack.store, start) as events:
            await anext(events)
            proxy.cut()
            with pytest.raises(Unavailable):
                await anext(events)


async def test_revisions_longer_than_a_line_limit_arrive_whole(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        start = await stack.store.current_revision()
        keys = [f"k{n}" for n in range(10)]
        writes = [Put(key, body("v" * 130_000)) for key in keys]
        committed = await stack.commits.commit(Transaction(dict.fromkeys(keys, 0), writes))
        async with watching(stack.store, start) as events:
            _, delivered = told(await anext(events))
        assert {event.key: event.record for event in delivered} == committed.records


async def test_many_revisions_in_one_message_come_one_by_one(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        start = await stack.store.current_revision()
        revision, expected = 0, []
        for number in range(50):
            committed = await stack.commits.commit(update("a", revision, str(number)))
            revision = committed.revision
            expected.append((revision, committed.records["a"]))
        seen: list[tuple[int, Record | None]] = []
        async with watching(stack.store, start) as events:
            while len(seen) < 50:
                at, [event] = told(await anext(events))
                seen.append((at, event.record))
        assert seen == expected


async def test_a_watch_open_during_a_compaction_goes_on(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint) as stack:
        first = await stack.commits.commit(create("a"))
        async with watching(stack.store, first.revision - 1) as events:
            assert (await anext(events))[0] == first.revision
            second = await stack.commits.commit(update("a", first.revision))
            await stack.store.compact(second.revision)
            third = await stack.commits.commit(Transaction({"a": second.revision}, [Delete("a")]))
            seen: list[int] = []
            while not seen or seen[-1] < third.revision:
                seen.append((await anext(events))[0])
        assert seen[0] == second.revision


async def test_a_watch_of_an_etcd_that_went_back_in_time_is_expired(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        newest = await stack.store.current_revision()
        async with watching(stack.store, newest + 1000) as events:
            with pytest.raises(Expired):
                await anext(events)


async def test_a_watch_of_another_cluster_is_expired(
    etcd_process: EtcdProcess, own_etcd: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(own_etcd.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        start = await stack.store.current_revision()
        known = stack.store.identity
        proxy.lead_to(etcd_process.port)
        async with watching(stack.store, start) as events:
            with pytest.raises(Expired, match="another etcd cluster"):
                await anext(events)
        assert stack.store.identity != known


async def test_a_watch_moves_to_another_endpoint_and_loses_nothing(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as one,
        tcp_proxy(etcd_process.port) as two,
        etcd_stack(one.endpoint, two.endpoint, prefix=prefix) as stack,
    ):
        start = await stack.store.current_revision()
        async with watching(stack.store, start) as events:
            await anext(events)
            assert two.connections == 0
            await one.refuse()
            committed = await stack.commits.commit(create("a"))
            with pytest.raises(Unavailable):
                await read_on(events)
        async with watching(stack.store, start) as events:
            batch = told(await anext(events))
            if not batch[1]:
                # The write's first sending was cut: a fence was raised before it went again.
                batch = told(await anext(events))
        revision, [event] = batch
        assert (revision, event.key) == (committed.revision, "a")


async def test_a_value_of_an_unknown_format_is_refused_by_name(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        value = b'{"v":2,"p":"000","t":"0123456789abcdef"}\n{}'
        put = b'{"key":"%b","value":"%b"}' % (
            wire.b64(stack.store.full_key("a")),
            wire.b64(value),
        )
        await stack.client.call("/kv/put", put)
        with pytest.raises(UnreadableRecord, match=r"a at revision .* format 2"):
            await stack.store.read(["a"])


async def test_a_watch_survives_a_kill_of_etcd_by_resuming(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint) as stack:
        first = await stack.commits.commit(create("a"))
        async with watching(stack.store, first.revision) as events:
            assert await anext(events) == (first.revision, [])
            own_etcd.kill()
            with pytest.raises(Unavailable):
                await anext(events)
        await asyncio.to_thread(own_etcd.start)
        second = await stack.commits.commit(create("b"))
        async with watching(stack.store, first.revision) as events:
            revision, [event] = told(await anext(events))
        assert (revision, event.record) == (second.revision, second.records["b"])


async def history(store: EtcdStore, after: int, until: int) -> list[tuple[int, list[str]]]:
    seen: list[tuple[int, list[str]]] = []
    async with asyncio.timeout(20), aclosing(store.replay(after, until)) as batches:
        async for revision, events in batches:
            keys = [event.event.key for event in events]
            seen.append((revision, [key for key in keys if not key.startswith(FENCES)]))
            if revision >= until:
                break
    return seen


async def test_a_history_that_other_tenants_went_on_with_ends_without_waiting_for_silence(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        etcd_stack(etcd_process.endpoint, prefix=prefix, progress_seconds=1_000) as stack,
        etcd_stack(etcd_process.endpoint, prefix=f"{prefix}-other") as tenant,
    ):
        first = (await stack.commits.commit(create("a"))).revision
        foreign = (await tenant.commits.commit(create("a"))).revision
        assert await history(stack.store, first - 1, foreign) == [
            (first, ["a"]),
            (foreign + 1, [PROGRESS_KEY]),
        ]


async def test_a_value_before_a_change_that_is_compacted_is_not_taken_for_none(
    own_etcd: EtcdProcess,
) -> None:
    async with etcd_stack(own_etcd.endpoint) as stack:
        first = await stack.commits.commit(create("a"))
        second = await stack.commits.commit(update("a", first.revision))
        third = await stack.commits.commit(create("b"))
        await stack.store.compact(second.revision)
        with pytest.raises(Expired):
            await history(stack.store, first.revision, third.revision)
        assert await history(stack.store, second.revision, third.revision) == [
            (third.revision, ["b"])
        ]


async def test_a_full_history_of_large_objects_comes_in_fragments_with_the_values_before(
    own_etcd: EtcdProcess,
) -> None:
    async with etcd_stack(own_etcd.endpoint, progress_seconds=10) as stack:
        start = await stack.store.current_revision()
        committed = await stack.commits.commit(
            Transaction({"a": 0}, [Put("a", body("x" * 700_000))])
        )
        revisions = [committed.revision]
        for number in range(8):
            put = Put("a", body(f"{number}" * 700_000))
            committed = await stack.commits.commit(Transaction({"a": revisions[-1]}, [put]))
            revisions.append(committed.revision)
        before: list[Record | None] = []
        async with aclosing(stack.store.replay(start, revisions[-1])) as batches:
            async for revision, [event, *_] in batches:
                before.append(event.before)
                if revision == revisions[-1]:
                    break
        assert [record and record.mod_revision for record in before] == [None, *revisions[:-1]]
