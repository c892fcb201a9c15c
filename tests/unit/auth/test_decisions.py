"""Answers that are kept for a while."""

import asyncio

import pytest

from apis.meta.errors import StatusError
from quotaapi.auth.asking import Away, unavailable
from quotaapi.auth.decisions import Decisions


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Asked:
    """Answers with a number that grows; or raises `fault`."""

    def __init__(self) -> None:
        self.times = 0
        self.fault: Exception | None = None
        self.go: asyncio.Event | None = None

    async def __call__(self) -> int:
        self.times += 1
        if self.go is not None:
            await self.go.wait()
        if self.fault is not None:
            raise self.fault
        return self.times


def decisions(tasks, clock, *, seconds: float = 10.0, size: int = 2) -> Decisions[str, int]:
    return Decisions(lambda _k: seconds, size=size, monotonic=clock, spawn=tasks.create_task)


async def test_an_answer_holds_for_its_time() -> None:
    clock, ask = Clock(), Asked()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock)
        answers = []
        for now in (0.0, 9.9, 10.0):
            clock.now = now
            answers.append(await kept.get("a", ask))

    assert answers == [1, 1, 2]


async def test_while_kube_apiserver_is_away_the_last_answer_holds_for_five_minutes() -> None:
    clock, ask = Clock(), Asked()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock)
        await kept.get("a", ask)
        ask.fault = Away()
        held = []
        for now in (10.0, 19.9, 20.0, 299.9):
            clock.now = now
            held.append((await kept.get("a", ask), ask.times))
        clock.now = 300.0
        with pytest.raises(Away):
            await kept.get("a", ask)

    assert held == [(1, 2), (1, 2), (1, 3), (1, 4)]


async def test_once_kube_apiserver_is_back_its_answer_counts() -> None:
    clock, ask = Clock(), Asked()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock)
        await kept.get("a", ask)
        ask.fault, clock.now = Away(), 10.0
        await kept.get("a", ask)
        ask.fault, clock.now = None, 20.0

        assert await kept.get("a", ask) == 3


async def test_an_answer_that_decides_nothing_prolongs_none() -> None:
    clock, ask = Clock(), Asked()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock)
        await kept.get("a", ask)
        ask.fault, clock.now = unavailable(), 10.0

        with pytest.raises(StatusError):
            await kept.get("a", ask)


async def test_no_more_than_the_bound_are_kept_and_the_oldest_use_goes_first() -> None:
    clock, ask = Clock(), Asked()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock, size=2)
        for key in ("a", "b", "a", "c", "a", "b"):
            await kept.get(key, ask)

    assert (len(kept), kept.hits, kept.misses) == (2, 2, 4)


async def test_what_holds_for_no_time_is_not_kept() -> None:
    clock, ask = Clock(), Asked()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock, seconds=0.0)
        await kept.get("a", ask)
        await kept.get("a", ask)

    assert (len(kept), ask.times) == (0, 2)


async def test_a_fault_reaches_everybody_who_waited_and_is_not_kept() -> None:
    clock, ask = Clock(), Asked()
    ask.fault, ask.go = ValueError("away"), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock)
        waiting = [asyncio.ensure_future(kept.get("a", ask)) for _ in range(3)]
        await asyncio.sleep(0)
        ask.go.set()
        faults = await asyncio.gather(*waiting, return_exceptions=True)
        ask.fault = None
        answer = await kept.get("a", ask)

    assert ([str(fault) for fault in faults], answer) == (["away"] * 3, 2)


async def test_an_asker_that_leaves_does_not_take_the_others_answer_along() -> None:
    clock, ask = Clock(), Asked()
    ask.go = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        kept = decisions(tasks, clock)
        first = asyncio.ensure_future(kept.get("a", ask))
        second = asyncio.ensure_future(kept.get("a", ask))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        ask.go.set()

        assert (await second, ask.times) == (1, 1)


async def test_a_question_that_is_cancelled_is_cancelled_for_its_askers() -> None:
    clock, ask = Clock(), Asked()
    ask.go = asyncio.Event()
    spawned = []

    async with asyncio.TaskGroup() as tasks:

        def spawn(question) -> None:
            spawned.append(tasks.create_task(question))

        kept = Decisions[str, int](lambda _k: 1.0, size=1, monotonic=clock, spawn=spawn)
        asking = asyncio.ensure_future(kept.get("a", ask))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        spawned[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
