"""Watchers: joined without a gap, bounded, and told only what concerns them."""

import asyncio
from collections.abc import Sequence

import pytest

from storage.cache.fanout import HAND_OUT_BYTES, HAND_OUT_EVENTS, Fanout
from storage.cache.watch_cache import WatchCache
from storage.interface import Expired, Facts, RawEvent, SlowWatcher
from tests.storage_kit import EXTRACTS, QUOTAS, SHOOTS, put_event, removal, shoot_key, versions

A = shoot_key("x", "garden-a")
B = shoot_key("x", "garden-b")


class Fed:
    """A cache and its watchers, fed as the reflector does it."""

    def __init__(self, *, queue_events: int = 1_000, window: int = 10_000) -> None:
        self.cache = WatchCache(EXTRACTS, window=window)
        self.cache.load(1, ())
        self.fanout = Fanout(self.cache, queue_events=queue_events)

    def revision(self, revision: int, events: Sequence[RawEvent] = ()) -> None:
        self.fanout.publish(self.cache.apply(revision, events))


def _red(facts: Facts) -> bool:
    return facts.labels.get("team") == "red"


async def test_what_was_before_and_what_comes_later_is_delivered_once_and_in_order() -> None:
    fed = Fed()
    fed.revision(2, [put_event(A, 2), put_event(B, 2, 1)])
    watcher = fed.fanout.join(SHOOTS, 2000, None)
    fed.revision(3, [put_event(A, 3)])
    assert versions(await watcher.next(1)) == [2001, 3000]


async def test_a_namespace_is_told_of_its_own_events_only() -> None:
    fed = Fed()
    watcher = fed.fanout.join(f"{SHOOTS}garden-a/", 1999, None)
    others = fed.fanout.join(QUOTAS, 1999, None)
    fed.revision(2, [put_event(B, 2), put_event(A, 2, 1)])
    assert versions(await watcher.next(1)) == [2001]
    assert await others.next(0) == []


async def test_a_cluster_scoped_object_is_delivered_once() -> None:
    fed = Fed()
    watcher = fed.fanout.join("garden.sapcloud.io/cloudprofiles/", 1999, None)
    fed.revision(2, [put_event("garden.sapcloud.io/cloudprofiles/aws", 2)])
    assert versions(await watcher.next(1)) == [2000]


async def test_hidden_keys_move_positions_and_are_not_delivered() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    fed.revision(2, [put_event(".ledger/quotas/garden-a/q", 2), put_event(A, 2, 1)])
    assert versions(await watcher.next(1)) == [2001]


async def test_a_selector_is_told_of_what_enters_and_of_what_leaves() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 1999, _red)
    fed.revision(2, [put_event(A, 2, labels={"team": "blue"})])
    fed.revision(3, [put_event(A, 3, labels={"team": "red"})])
    fed.revision(4, [put_event(A, 4, labels={"team": "blue"})])
    fed.revision(5, [removal(A, 5)])
    assert versions(await watcher.next(1)) == [3000, 4000]


async def test_a_removal_carries_the_last_value_at_the_version_of_the_removal() -> None:
    fed = Fed()
    fed.revision(2, [put_event(A, 2)])
    watcher = fed.fanout.join(SHOOTS, 2999, None)
    fed.revision(3, [put_event(B, 3), removal(A, 3, 1)])
    removed = (await watcher.next(1))[-1]
    assert removed.facts is None
    assert removed.previous == Facts(fields={"metadata.name": "x"})
    assert removed.record.object()["metadata"] == {"name": "x", "resourceVersion": "3001"}


async def test_a_waiting_watcher_is_woken_by_its_event() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    waiting = asyncio.ensure_future(watcher.next(60))
    await asyncio.sleep(0)
    fed.revision(2, [put_event(A, 2)])
    assert versions(await asyncio.wait_for(waiting, 1)) == [2000]


async def test_an_overflowing_queue_hands_out_what_it_has_and_ends() -> None:
    fed = Fed(queue_events=2)
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    for revision in (2, 3, 4):
        fed.revision(revision, [put_event(A, revision)])
    assert versions(await watcher.next(1)) == [2000, 3000]
    assert watcher.progress == 3000
    with pytest.raises(SlowWatcher):
        await watcher.next(1)


async def test_a_backlog_does_not_count_against_the_queue() -> None:
    fed = Fed(queue_events=2)
    for revision in range(2, 8):
        fed.revision(revision, [put_event(A, revision)])
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    fed.revision(8, [put_event(A, 8)])
    assert versions(await watcher.next(1)) == [number * 1000 for number in range(2, 9)]


async def test_a_large_backlog_is_handed_out_in_pieces() -> None:
    fed = Fed()
    for revision in range(2, 2 + HAND_OUT_EVENTS + 10):
        fed.revision(revision, [put_event(A, revision)])
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    first = await watcher.next(1)
    assert len(first) == HAND_OUT_EVENTS
    assert watcher.progress == first[-1].resource_version
    assert len(await watcher.next(1)) == 10
    assert watcher.progress == fed.cache.version


async def test_large_events_are_handed_out_a_few_at_a_time() -> None:
    fed = Fed()
    large = {"text": "x" * (HAND_OUT_BYTES // 2)}
    for revision in range(2, 7):
        fed.revision(revision, [put_event(A, revision, labels=large)])
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    assert [len(await watcher.next(1)) for _ in range(3)] == [2, 2, 1]


async def test_a_version_older_than_the_window_has_expired() -> None:
    fed = Fed(window=2)
    for revision in range(2, 40):
        fed.revision(revision, [put_event(A, revision)])
    with pytest.raises(Expired):
        fed.fanout.join(SHOOTS, 2000, None)


async def test_progress_moves_on_without_a_matching_event() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 1999, _red)
    fed.revision(2, [put_event(A, 2)])
    fed.revision(7)
    assert await watcher.next(0) == []
    assert watcher.progress == 7999


async def test_progress_stays_behind_events_that_were_not_fetched() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    fed.revision(2, [put_event(A, 2)])
    fed.revision(7)
    assert watcher.progress == 1999
    await watcher.next(1)
    assert watcher.progress == 7999


async def test_a_watcher_beyond_the_cache_is_spared_what_it_has_seen() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 3999, None)
    fed.revision(3, [put_event(A, 3)])
    fed.revision(4, [put_event(A, 4)])
    assert versions(await watcher.next(1)) == [4000]


async def test_a_rebuilt_cache_expires_its_watchers() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    waiting = asyncio.ensure_future(watcher.next(60))
    await asyncio.sleep(0)
    fed.fanout.expire_all()
    with pytest.raises(Expired):
        await asyncio.wait_for(waiting, 1)


async def test_who_left_is_forgotten() -> None:
    fed = Fed()
    watcher = fed.fanout.join(SHOOTS, 1999, None)
    fed.fanout.leave(SHOOTS, watcher)
    assert len(fed.fanout) == 0
