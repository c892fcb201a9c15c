"""The reflector: what it does about outages, compaction and a restored etcd."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from apis.meta.transaction import Snapshot, Unavailable
from storage.cache.reflector import Pace, State
from storage.interface import Expired, ListOptions, RawEvent
from storage.stack import Limits
from tests.fakes.memory_backend import MemoryBackend
from tests.storage_kit import (
    SHOOTS,
    a_stack,
    creating,
    deleting,
    running,
    shoot_key,
    take,
    versions,
)

KEY = shoot_key("x")
SMALL_PAGES = Pace(page_keys=2, first_delay_seconds=0.001, longest_delay_seconds=0.01)


async def test_the_first_load_is_paged_at_one_revision() -> None:
    backend = MemoryBackend()
    keys = [shoot_key(f"s-{number}") for number in range(7)]
    await backend.commit(creating(*keys))
    async with running(backend, backend.commit, pace=SMALL_PAGES) as stack:
        assert [entry.record.key for entry in stack.cache.entries(SHOOTS)] == keys
        assert backend.ranges == 4
        assert stack.cache.revision == 2


async def test_a_stream_that_breaks_is_resumed_without_loss() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        async with stack.reader.watch(SHOOTS, 0, None) as watch:
            await backend.commit(creating(KEY))
            await backend.go_down()
            backend.come_up()
            await backend.commit(deleting(KEY, 2))
            await backend.break_streams()
            await backend.commit(creating(KEY))
            assert versions(await take(watch, 3)) == [2000, 3000, 4000]
        assert stack.reflector.loads == 1


async def test_a_server_that_was_restarted_resumes_the_watches_of_the_one_before() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    await backend.commit(deleting(KEY, 2))
    await backend.commit(creating(KEY))
    async with running(backend, backend.commit) as stack:
        async with stack.reader.watch(SHOOTS, 2000, None) as watch:
            removed, created = await take(watch, 2)
        assert versions([removed, created]) == [3000, 4000]
        assert removed.facts is None
        assert removed.previous is not None


async def test_history_is_told_as_far_back_as_the_compaction() -> None:
    backend = MemoryBackend()
    for number in range(30):
        await backend.commit(creating(shoot_key(f"s-{number}")))
    backend.compact(25)
    async with running(backend, backend.commit) as stack:
        for since, first in ((25_999, 26_000), (26_000, 27_000), (29_000, 30_000)):
            async with stack.reader.watch(SHOOTS, since, None) as watch:
                expected = list(range(first, 31_001, 1_000))
                assert versions(await take(watch, len(expected))) == expected
        for since in (20_000, 24_999, 25_000):
            async with stack.reader.watch(SHOOTS, since, None) as watch:
                with pytest.raises(Expired):
                    await watch.next(5)


async def test_a_load_is_of_the_present_where_other_tenants_made_the_last_revisions() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    await backend.move_on(5)
    async with running(backend, backend.commit) as stack:
        assert stack.cache.record(KEY) is not None
        assert stack.cache.revision == 7


async def test_an_unreadable_value_keeps_the_cache_from_serving() -> None:
    backend = MemoryBackend()
    backend.unreadable = True
    stack = a_stack(backend, backend.commit)
    reflecting = asyncio.ensure_future(stack.reflector.run())
    assert not await stack.reflector.wait_until_synced(0.02)
    assert stack.reflector.fault == "not a record of this server"
    backend.unreadable = False
    assert await stack.reflector.wait_until_synced(5)
    assert stack.reflector.fault == ""
    reflecting.cancel()
    await asyncio.wait([reflecting])


async def test_watchers_are_sent_elsewhere_where_a_value_cannot_be_read() -> None:
    backend = MemoryBackend()
    async with (
        running(backend, backend.commit) as stack,
        stack.reader.watch(SHOOTS, 0, None) as watching,
    ):
        backend.unreadable = True
        stack.reflector.doubt()

        with pytest.raises(Unavailable, match="not a record of this server"):
            await watching.next(5)


async def test_a_proof_of_another_history_leads_to_a_load_whatever_the_revision() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        loads = stack.reflector.loads

        stack.reflector.doubt()

        async with asyncio.timeout(5):
            while stack.reflector.loads == loads:  # noqa: ASYNC110 -- a counter, no event
                await asyncio.sleep(0)
        assert await stack.reflector.wait_until_synced(5)


async def test_a_load_waits_for_etcd_to_come_up() -> None:
    backend = MemoryBackend()
    backend.down = True
    stack = a_stack(backend, backend.commit)
    reflecting = asyncio.ensure_future(stack.reflector.run())
    assert not await stack.reflector.wait_until_synced(0.02)
    backend.come_up()
    assert await stack.reflector.wait_until_synced(5)
    reflecting.cancel()
    await asyncio.wait([reflecting])


async def test_compaction_while_away_rebuilds_the_cache_and_expires_watchers() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        async with stack.reader.watch(SHOOTS, 0, None) as watch:
            await backend.go_down()
            backend.write(creating(KEY))
            backend.write(creating(shoot_key("y")))
            backend.compact(3)
            backend.come_up()
            with pytest.raises(Expired):
                await watch.next(5)
        async with stack.reader.watch(SHOOTS, 2_000, None) as late:
            with pytest.raises(Expired):
                await late.next(5)
        assert await stack.reader.get(KEY) is not None
        assert stack.reflector.loads == 2


async def test_a_restored_etcd_is_noticed_and_nothing_of_the_other_history_is_served() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    async with running(backend, backend.commit) as stack:
        await stack.transactor.commit(creating(shoot_key("lost")))
        await stack.reader.get(shoot_key("lost"))
        async with stack.reader.watch(SHOOTS, 0, None) as watch:
            await backend.restore(2)
            page = await stack.reader.list(SHOOTS, ListOptions())
            assert [record.key for record in page.records] == [KEY]
            with pytest.raises(Expired):
                await watch.next(5)
        assert await stack.reflector.wait_until_synced(5)
        assert stack.cache.revision == 2
        lost = shoot_key("lost")
        assert await stack.transactor.newest([lost]) == {lost: Snapshot(lost, None)}


async def test_a_read_older_than_the_cache_starts_the_check() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    async with running(backend, backend.commit) as stack:
        # Restored behind a proxy that keeps the stream: only an answer can tell.
        backend.revision = 1
        assert await stack.reader.get(KEY) is None
        async with stack.reader.watch(SHOOTS, 0, None) as watch:
            with pytest.raises(Expired):
                await watch.next(5)


class CountedStreams(MemoryBackend):
    """`opened` is set when a second stream of events is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = 0
        self.opened = asyncio.Event()

    def events(self, after_revision: int) -> AsyncGenerator[tuple[int, Sequence[RawEvent]], None]:
        self.streams += 1
        if self.streams == 2:
            self.opened.set()
        return super().events(after_revision)


async def test_a_silent_stream_is_replaced() -> None:
    backend = CountedStreams()
    pace = Pace(silence_seconds=0.01, first_delay_seconds=0.001)
    async with running(backend, backend.commit, pace=pace) as stack:
        async with stack.reader.watch(SHOOTS, 0, None) as watch, asyncio.timeout(5):
            await backend.opened.wait()
            await backend.commit(creating(KEY))
            assert versions(await watch.next(5)) == [2000]
        assert stack.reflector.loads == 1


async def test_a_burst_that_arrives_at_once_overflows_no_watcher_that_keeps_reading() -> None:
    backend = MemoryBackend()
    limits = Limits(queue_events=500)
    async with (
        running(backend, backend.commit, limits=limits) as stack,
        stack.reader.watch(SHOOTS, 0, None) as watch,
    ):
        await backend.commit(creating(KEY))
        assert len(await take(watch, 1)) == 1
        for number in range(20):
            backend.write(creating(*(shoot_key(f"{number}-{n}") for n in range(100))))
        await backend.report_progress()
        assert len(await take(watch, 2_000)) == 2_000


async def test_progress_without_events_moves_the_cache_on() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        await backend.move_on(5)
        await backend.report_progress()
        assert await stack.reflector.wait_for_revision(6, 5)


async def test_stopping_ends_watches_and_waits() -> None:
    backend = MemoryBackend()
    stack = a_stack(backend, backend.commit)
    reflecting = asyncio.ensure_future(stack.reflector.run())
    assert await stack.reflector.wait_until_synced(5)
    watcher = stack.fanout.join(SHOOTS, stack.cache.version, None)
    waiting = asyncio.ensure_future(stack.reflector.wait_for_revision(99, 60))
    await asyncio.sleep(0)
    reflecting.cancel()
    await asyncio.wait([reflecting])
    assert stack.reflector.state is State.STOPPED
    assert await asyncio.wait_for(waiting, 1) is False
    with pytest.raises(Unavailable):
        await watcher.next(1)


async def test_a_wait_that_gave_up_leaves_nothing_behind() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        assert not await stack.reflector.wait_for_revision(10**18, 0.001)
        assert stack.reflector._waiting == {}
