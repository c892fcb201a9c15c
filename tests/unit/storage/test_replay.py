"""Watches that resume before the window: from etcd's history, shared, bounded, handed over whole."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from apis.meta.keys import quota_references_key
from apis.meta.transaction import Delete, Put, Transaction
from storage.cache import replay
from storage.cache.resumption import HAND_OUT_EVENTS
from storage.interface import Expired, Facts, PastEvent, UnreadableRecord
from storage.stack import Limits, Stack
from tests.fakes.memory_backend import MemoryBackend
from tests.storage_kit import (
    SHOOTS,
    a_body,
    a_put,
    a_stack,
    creating,
    deleting,
    running,
    shoot_key,
    take,
    versions,
)

SMALL = Limits(window_events=1)
LEDGER = quota_references_key("garden-core", "q")


def _red(facts: Facts) -> bool:
    return facts.labels.get("team") == "red"


async def _serial(backend: MemoryBackend, count: int) -> list[int]:
    """So many revisions, each of which creates a shoot; their versions."""
    for number in range(count):
        await backend.commit(creating(shoot_key(f"s-{number}")))
    return [revision * 1000 for revision in range(2, count + 2)]


async def _all(stack: Stack, since: int, count: int) -> list[int]:
    async with stack.reader.watch(SHOOTS, since, None) as watch:
        return versions(await take(watch, count))


async def test_what_changed_is_told_with_the_values_before_it() -> None:
    backend = MemoryBackend()
    x, y = shoot_key("x"), shoot_key("y")
    red, blue = {"team": "red"}, {"team": "blue"}
    await backend.commit(Transaction({}, [a_put(x, labels=red), a_put(y, labels=blue)]))
    await backend.commit(Transaction({}, [a_put(x, labels=blue), a_put(y, labels=red)]))
    await backend.commit(Transaction({}, [Put(LEDGER, a_body(LEDGER)), Delete(y), a_put(x)]))
    async with running(backend, backend.commit) as stack:
        async with stack.reader.watch(SHOOTS, 1999, _red) as watch:
            entered, left, came, gone = await take(watch, 4)
        # Entered and left the selection; `before` is what it was in it.
        assert versions([entered, left, came, gone]) == [2000, 3000, 3001, 4001]
        assert (entered.previous, entered.before) == (None, None)
        assert left.before == entered.record
        assert [event.previous and dict(event.previous.labels) for event in (left, came)] == [
            red,
            blue,
        ]
        assert gone.facts is None
        assert gone.previous is not None
        assert gone.record.body == came.record.body


async def test_a_resumption_inside_a_revision_is_told_the_rest_of_it() -> None:
    backend = MemoryBackend()
    keys = [shoot_key(f"s-{number}") for number in range(4)]
    await backend.commit(creating(*keys))
    await backend.commit(Transaction({}, [Delete(keys[0]), a_put(keys[1]), Delete(keys[2])]))
    everything = [2000, 2001, 2002, 2003, 3000, 3001, 3002]
    async with running(backend, backend.commit) as stack:
        for since in (1000, 1999, *everything):
            later = [version for version in everything if version > since]
            assert await _all(stack, since, len(later)) == later


async def test_who_resumes_at_once_reads_the_history_once() -> None:
    backend = MemoryBackend()
    told = await _serial(backend, 600)
    async with running(backend, backend.commit) as stack:
        since = told[::4]
        seen = await asyncio.gather(
            *(_all(stack, at, 600 - i * 4 - 1) for i, at in enumerate(since))
        )
        assert seen == [told[i * 4 + 1 :] for i in range(len(since))]
        # As many as there are places where a piece begins, and not one for each of 150 watches.
        assert backend.replays <= 600 // replay.ALIGNED_REVISIONS + 1


async def test_a_history_longer_than_a_piece_is_read_piece_by_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay, "PIECE_EVENTS", 50)
    monkeypatch.setattr(replay, "KEPT_BYTES", 1)
    backend = MemoryBackend()
    told = await _serial(backend, 500)
    async with running(backend, backend.commit) as stack:
        assert await _all(stack, 1999, 500) == told
        assert backend.replays == 10


async def test_a_window_that_dropped_events_is_continued_by_the_history() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit, limits=SMALL) as stack:
        told = await _serial(backend, 100)
        await stack.reader.get(shoot_key("s-99"))
        assert stack.cache.floor(SHOOTS) > 2000
        assert await _all(stack, 1999, 100) == told


async def test_a_slow_client_far_behind_is_handed_some_at_a_time_and_is_not_closed() -> None:
    backend = MemoryBackend()
    told = await _serial(backend, 3 * HAND_OUT_EVENTS)
    limits = Limits(window_events=10, queue_events=10)
    async with running(backend, backend.commit, limits=limits) as stack:
        async with stack.reader.watch(SHOOTS, 1999, None) as watch:
            seen = versions(await watch.next(5))
            assert len(seen) == HAND_OUT_EVENTS
            # More than its queue takes, were there one already.
            for number in range(100):
                await backend.commit(creating(shoot_key(f"late-{number}")))
            assert len(stack.fanout) == 0
            while len(seen) < len(told) + 100:
                seen += versions(await watch.next(5))
        assert seen == [2000 + 1000 * number for number in range(len(told) + 100)]


async def test_what_is_written_during_the_hand_over_comes_once() -> None:
    backend = MemoryBackend()
    before = await _serial(backend, 40)
    async with running(backend, backend.commit, limits=SMALL) as stack:
        async with asyncio.TaskGroup() as group:
            watches = [group.create_task(_all(stack, at, 600 - i)) for i, at in enumerate(before)]
            for number in range(561):
                await backend.commit(creating(shoot_key(f"during-{number}")))
        everything = [2000 + 1000 * number for number in range(601)]
        assert [watch.result() for watch in watches] == [everything[i + 1 :] for i in range(40)]


async def test_a_selector_that_nothing_matches_comes_to_the_present() -> None:
    backend = MemoryBackend()
    await _serial(backend, 300)
    async with (
        running(backend, backend.commit) as stack,
        stack.reader.watch(SHOOTS, 1999, _red) as watch,
    ):
        assert await watch.next(0.5) == []
        assert watch.progress == 301_999
        await backend.commit(Transaction({}, [a_put(shoot_key("new"), labels={"team": "red"})]))
        assert versions(await watch.next(5)) == [302_000]


async def test_while_etcd_is_away_a_resumption_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.cache.resumption.RETRY_SECONDS", 0.01)
    monkeypatch.setattr(replay, "RETRY_SECONDS", 0.01)
    backend = MemoryBackend()
    told = await _serial(backend, 10)
    async with running(backend, backend.commit) as stack:
        await backend.go_down()
        async with stack.reader.watch(SHOOTS, 1999, None) as watch:
            assert await watch.next(0.05) == ()
            assert watch.progress == 1999
            backend.come_up()
            assert versions(await take(watch, 10)) == told


async def test_a_history_of_another_etcd_is_not_told_on() -> None:
    backend = MemoryBackend()
    await _serial(backend, 2 * HAND_OUT_EVENTS)
    async with (
        running(backend, backend.commit) as stack,
        stack.reader.watch(SHOOTS, 1999, None) as watch,
    ):
        assert len(await watch.next(5)) == HAND_OUT_EVENTS
        loads = stack.reflector.loads
        stack.reflector.doubt()
        while stack.reflector.loads == loads:  # noqa: ASYNC110 -- a counter, no event
            await asyncio.sleep(0)
        with pytest.raises(Expired):
            await watch.next(5)


async def test_an_etcd_that_is_replaced_while_a_watch_waits_for_its_turn_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = MemoryBackend()
    await _serial(backend, 2 * HAND_OUT_EVENTS)
    async with (
        running(backend, backend.commit) as stack,
        stack.reader.watch(SHOOTS, 1999, None) as watch,
    ):
        loads = stack.reflector.loads

        async def replaced() -> None:
            stack.reflector.doubt()
            while stack.reflector.loads == loads:  # noqa: ASYNC110 -- a counter, no event
                await asyncio.sleep(0)

        monkeypatch.setattr(stack.replay, "turn_to_hand_out", replaced)
        with pytest.raises(Expired):
            await watch.next(5)


async def test_what_was_compacted_meanwhile_ends_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "PIECE_EVENTS", 50)
    backend = MemoryBackend()
    await _serial(backend, 200)
    async with (
        running(backend, backend.commit) as stack,
        stack.reader.watch(SHOOTS, 1999, None) as watch,
    ):
        assert len(await watch.next(5)) == 50
        backend.compact(150)
        with pytest.raises(Expired):
            await watch.next(5)


class _WithUnreadable(MemoryBackend):
    async def replay(
        self, after_revision: int, until_revision: int
    ) -> AsyncGenerator[tuple[int, Sequence[PastEvent]], None]:
        async for revision, events in super().replay(after_revision, until_revision):
            if revision == 3:
                raise UnreadableRecord("x at revision 3 is not a record of this server")
            yield revision, events


async def test_an_event_that_cannot_be_decoded_is_not_passed_over() -> None:
    backend = _WithUnreadable()
    await _serial(backend, 5)
    async with running(backend, backend.commit) as stack:
        async with stack.reader.watch(SHOOTS, 1999, None) as watch:
            with pytest.raises(Expired, match="not a record of this server"):
                await watch.next(5)
        assert await _all(stack, 4000, 2) == [5000, 6000]


async def test_what_nobody_uses_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "KEPT_SECONDS", 0.0)
    backend = MemoryBackend()
    told = await _serial(backend, 5)
    async with running(backend, backend.commit) as stack:
        for expected in (1, 2):
            assert await _all(stack, 1999, 5) == told
            await asyncio.sleep(0.001)
            assert backend.replays == expected


async def test_a_reader_that_leaves_does_not_keep_the_others_waiting() -> None:
    backend = MemoryBackend()
    told = await _serial(backend, 20)
    async with (
        running(backend, backend.commit) as stack,
        stack.reader.watch(SHOOTS, 1999, None) as first,
    ):
        reading = asyncio.ensure_future(first.next(60))
        await asyncio.sleep(0)
        other = asyncio.ensure_future(_all(stack, 1999, 20))
        await asyncio.sleep(0)
        reading.cancel()
        assert await other == told


async def test_a_removal_of_what_the_cache_never_had_is_told() -> None:
    backend = MemoryBackend()
    key = shoot_key("x")
    await backend.commit(creating(key))
    await backend.commit(deleting(key, 2))
    stack = a_stack(backend, backend.commit)
    assert stack.cache.record(key) is None
    async with running(backend, backend.commit) as stack:
        async with stack.reader.watch(SHOOTS, 2000, None) as watch:
            (gone,) = await take(watch, 1)
        assert (gone.record.key, gone.resource_version, gone.facts) == (key, 3000, None)


async def test_a_wait_that_is_cancelled_at_any_step_loses_nothing() -> None:
    backend = MemoryBackend()
    told = await _serial(backend, 5 * HAND_OUT_EVENTS)
    async with (
        running(backend, backend.commit) as stack,
        stack.reader.watch(SHOOTS, 1999, None) as watch,
    ):
        # So that the history need not be read again each time.
        assert await _all(stack, 1999, len(told)) == told
        seen: list[int] = []
        for number in range(200):
            asked = asyncio.ensure_future(watch.next(5))
            for _ in range(number % 10):
                await asyncio.sleep(0)
            # Cancelled in the turn in which it would have gone on: that is the hard one.
            if not asked.done():
                asked.cancel()
            await asyncio.wait([asked])
            if not asked.cancelled():
                seen += versions(asked.result())
            if len(seen) == len(told):
                break
        assert seen == told
