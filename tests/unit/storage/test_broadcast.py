"""Watchers told in common: written to directly, in rounds, and let go when their client is slow."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from apis.meta import codec
from storage.cache.broadcast import PIECE_BYTES, PIECE_EVENTS, SLICE_SECONDS
from storage.cache.fanout import Fanout, Watcher
from storage.cache.watch_cache import WatchCache
from storage.interface import Delivery, Event, Expired, Facts, SlowWatcher
from tests.storage_kit import EXTRACTS, SHOOTS, put_event, shoot_key, versions

A = shoot_key("x", "garden-a")


class Clock:
    """Stands still but for `step` seconds with each look."""

    def __init__(self) -> None:
        self.now = 0.0
        self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Outlet:
    def __init__(self) -> None:
        self.ready = True
        self.writes: list[list[int]] = []
        self._written = asyncio.Event()

    def write(self, data: bytes) -> None:
        self._written.set()
        self.writes.append(codec.decode_json(data).value)

    async def has_told(self, number: int) -> list[int]:
        async with asyncio.timeout(5):
            while len(self.told) < number:
                self._written.clear()
                await self._written.wait()
        return self.told

    @property
    def told(self) -> list[int]:
        return [version for write in self.writes for version in write]


class Encoder:
    """Counts how often it encodes."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, events: Sequence[Event]) -> bytes:
        self.calls += 1
        return codec.encode(versions(events))


class Fed:
    """A cache and its watchers, fed as the reflector does it."""

    def __init__(self, *, queue_events: int = 1_000) -> None:
        self.cache = WatchCache(EXTRACTS)
        self.cache.load(1, ())
        self.clock = Clock()
        self.fanout = Fanout(self.cache, queue_events=queue_events, monotonic=self.clock)

    def events(self, *revisions: int, labels: Mapping[str, str] | None = None) -> None:
        for revision in revisions:
            self.fanout.publish(self.cache.apply(revision, [put_event(A, revision, labels=labels)]))

    def watcher(
        self, encode: Encoder, *, form: str = "plain", predicate=None
    ) -> tuple[Watcher, Outlet]:
        outlet = Outlet()
        watcher = self.fanout.join(SHOOTS, self.cache.version, predicate)
        watcher.deliver(Delivery(outlet, form, encode))
        return watcher, outlet


async def turns(number: int = 3) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.fixture
def fed() -> Fed:
    return Fed()


async def waiting(watcher: Watcher) -> "asyncio.Task[Sequence[Event]]":
    task = asyncio.ensure_future(watcher.next(60))
    await turns()
    return task


async def ended(*tasks: "asyncio.Task[Sequence[Event]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_lone_event_is_written_in_the_next_turn_and_wakes_nobody(fed) -> None:
    watcher, outlet = fed.watcher(Encoder())
    task = await waiting(watcher)
    fed.events(2)
    await turns(1)
    assert outlet.writes == [[2000]]
    assert watcher.progress == fed.cache.version
    await turns()
    assert not task.done()
    await ended(task)


async def test_watchers_of_one_form_share_one_encoding(fed) -> None:
    encode = Encoder()
    watchers = [fed.watcher(encode) for _ in range(20)]
    tasks = [await waiting(watcher) for watcher, _ in watchers]
    fed.events(2, 3)
    await turns()
    assert encode.calls == 1
    assert all(outlet.writes == [[2000, 3000]] for _, outlet in watchers)
    await ended(*tasks)


async def test_forms_and_selectors_are_kept_apart(fed) -> None:
    def red(facts: Facts) -> bool:
        return facts.labels.get("team") == "red"

    plain, table, selected = Encoder(), Encoder(), Encoder()
    found = [fed.watcher(plain), fed.watcher(table, form="table"),
             fed.watcher(selected, predicate=red)]  # fmt: skip
    tasks = [await waiting(watcher) for watcher, _ in found]
    fed.events(2, labels={"team": "blue"})
    fed.events(3, labels={"team": "red"})
    await turns()
    assert [outlet.told for _, outlet in found] == [[2000, 3000], [2000, 3000], [3000]]
    assert (plain.calls, table.calls, selected.calls) == (1, 1, 1)
    await ended(*tasks)


async def test_events_gather_while_the_rounds_rest(fed) -> None:
    watcher, outlet = fed.watcher(Encoder())
    task = await waiting(watcher)
    fed.clock.step = 0.001
    fed.events(2)
    await turns()
    fed.clock.step = 0.0
    fed.events(3, 4)
    await turns()
    assert outlet.writes == [[2000]]
    await outlet.has_told(3)
    assert outlet.writes == [[2000], [3000, 4000]]
    await ended(task)


async def test_a_round_gives_way_and_loses_nothing_that_comes_meanwhile(fed) -> None:
    found = [fed.watcher(Encoder()) for _ in range(5)]
    tasks = [await waiting(watcher) for watcher, _ in found]
    fed.clock.step = SLICE_SECONDS
    fed.events(2)
    await turns(2)
    told = [len(outlet.told) for _, outlet in found]
    assert 0 < sum(told) < 5
    fed.events(3)
    behind = found[told.index(0)][0]
    assert behind.progress < 2000
    assert [await outlet.has_told(2) for _, outlet in found] == [[2000, 3000]] * 5
    await ended(*tasks)


async def test_who_stops_waiting_in_the_middle_of_a_round_is_handed_the_rest(fed) -> None:
    found = [fed.watcher(Encoder()) for _ in range(4)]
    tasks = [await waiting(watcher) for watcher, _ in found]
    fed.clock.step = SLICE_SECONDS
    fed.events(2)
    await turns(1)
    watcher, outlet = found[-1]
    assert outlet.told == []
    await ended(tasks[-1])
    fed.events(3)
    assert versions(await watcher.next(1)) == [2000, 3000]
    await turns(20)
    assert outlet.told == []
    await ended(*tasks)


async def test_a_full_connection_gets_its_events_handed_out(fed) -> None:
    (slow, slow_outlet), (quick, quick_outlet) = fed.watcher(Encoder()), fed.watcher(Encoder())
    slow_task, quick_task = await waiting(slow), await waiting(quick)
    slow_outlet.ready = False
    fed.events(2)
    assert versions(await asyncio.wait_for(slow_task, 1)) == [2000]
    assert slow_outlet.writes == []
    assert quick_outlet.told == [2000]
    slow_outlet.ready = True
    slow_task = await waiting(slow)
    fed.events(3)
    await turns()
    assert (slow_outlet.told, quick_outlet.told) == ([3000], [2000, 3000])
    await ended(slow_task, quick_task)


async def test_many_events_are_written_in_pieces(fed) -> None:
    watcher, outlet = fed.watcher(Encoder())
    task = await waiting(watcher)
    fed.events(*range(2, PIECE_EVENTS + 12))
    await turns()
    assert [len(write) for write in outlet.writes] == [PIECE_EVENTS, 10]
    await ended(task)


async def test_a_piece_ends_where_its_objects_are_large(fed) -> None:
    watcher, outlet = fed.watcher(Encoder())
    task = await waiting(watcher)
    fed.events(2, 3, 4, labels={"text": "x" * PIECE_BYTES})
    fed.events(5, 6)
    await turns()
    assert outlet.writes == [[2000], [3000], [4000], [5000, 6000]]
    await ended(task)


async def test_a_channel_that_gathers_too_much_lets_its_members_fetch() -> None:
    fed = Fed(queue_events=8)
    watcher, outlet = fed.watcher(Encoder())
    task = await waiting(watcher)
    fed.events(*range(2, 8))
    assert versions(await asyncio.wait_for(task, 1)) == [number * 1000 for number in range(2, 8)]
    assert outlet.writes == []


async def test_a_queue_that_overflows_outside_of_its_channel_ends_the_watch() -> None:
    fed = Fed(queue_events=4)
    watcher, _ = fed.watcher(Encoder())
    task = await waiting(watcher)
    fed.events(*range(2, 12))
    assert versions(await asyncio.wait_for(task, 1)) == [2000, 3000, 4000, 5000]
    with pytest.raises(SlowWatcher):
        await watcher.next(1)


async def test_a_fault_of_encoding_is_left_to_each_watch(fed) -> None:
    def broken(_events: Sequence[Event]) -> bytes:
        raise ValueError("no bytes for this")

    watcher, outlet = fed.watcher(broken)
    other, other_outlet = fed.watcher(Encoder(), form="other")
    task, other_task = await waiting(watcher), await waiting(other)
    fed.events(2)
    assert versions(await asyncio.wait_for(task, 1)) == [2000]
    assert (outlet.told, other_outlet.told) == ([], [2000])
    await ended(other_task)


async def test_a_fault_of_one_connection_keeps_nobody_from_being_told_once(fed) -> None:
    (first, first_outlet), (broken, broken_outlet), (last, last_outlet) = (
        fed.watcher(Encoder()) for _ in range(3)
    )

    def fail(_data: bytes) -> None:
        raise RuntimeError("broken")

    broken_outlet.write = fail
    tasks = [await waiting(watcher) for watcher in (first, broken, last)]
    fed.events(2)
    fetched = [versions(await asyncio.wait_for(task, 1)) for task in tasks[1:]]
    assert fetched == [[2000], [2000]]
    assert (first_outlet.told, last_outlet.told) == ([2000], [])
    fed.events(3)
    assert versions(await asyncio.wait_for(tasks[0], 1)) == [3000]


async def test_nothing_is_written_when_nobody_waits(fed) -> None:
    watcher, outlet = fed.watcher(Encoder())
    assert await watcher.next(0) == []
    fed.events(2)
    await turns()
    assert outlet.writes == []
    assert watcher.progress < 2000
    assert versions(await watcher.next(1)) == [2000]


async def test_a_rebuilt_cache_expires_members_of_channels_too(fed) -> None:
    watcher, outlet = fed.watcher(Encoder())
    task = await waiting(watcher)
    fed.events(2)
    fed.fanout.expire_all()
    with pytest.raises(Expired):
        await asyncio.wait_for(task, 1)
    await turns()
    assert outlet.writes == []


async def test_encodings_are_not_kept(fed) -> None:
    def encode(events: Sequence[Event]) -> bytes:
        for event in events:
            event.encoded["ADDED", "plain"] = b"line"
        return codec.encode(versions(events))

    watcher, _ = fed.watcher(encode)
    task = await waiting(watcher)
    fed.events(2)
    await turns()
    assert [event.encoded for event in fed.cache.events_after(SHOOTS, 1999) or ()] == [{}]
    await ended(task)


async def resting(fed: Fed) -> None:
    """The rounds rest, for as long as the clock stands still."""
    fed.clock.step = 0.001
    fed.events(fed.cache.revision + 1)
    await turns()
    fed.clock.step = 0.0


async def test_who_joins_is_not_told_again_what_it_has_fetched(fed) -> None:
    (early, early_outlet), encode = fed.watcher(Encoder()), Encoder()
    early_task = await waiting(early)
    await resting(fed)
    late, late_outlet = fed.watcher(encode)
    fed.events(3)
    assert versions(await late.next(1)) == [3000]
    late_task = await waiting(late)
    assert await early_outlet.has_told(2) == [2000, 3000]
    await turns()
    assert late_outlet.writes == []
    await ended(early_task, late_task)


async def test_who_joins_is_told_of_what_came_after_it_fetched(fed) -> None:
    early, early_outlet = fed.watcher(Encoder())
    early_task = await waiting(early)
    await resting(fed)
    late, late_outlet = fed.watcher(Encoder())
    fed.events(3)
    assert versions(await late.next(1)) == [3000]
    late_task = await waiting(late)
    fed.events(4)
    assert await early_outlet.has_told(3) == [2000, 3000, 4000]
    assert versions(await asyncio.wait_for(late_task, 1)) == [4000]
    assert late_outlet.writes == []
    await ended(early_task)
