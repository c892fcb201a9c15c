"""Turns of the event loop among those who judge very many objects."""

import asyncio

from storage.cache.turn import Turns


async def test_of_many_one_works_in_a_turn_of_the_loop_and_each_gets_its_share() -> None:
    turns = Turns(0.0)
    worked = [0] * 20

    async def work(number: int) -> None:
        turn = await turns.begin()
        for _ in range(5):
            worked[number] += 1
            if turn.is_over():
                await turn.give()

    tasks = [asyncio.ensure_future(work(number)) for number in range(len(worked))]
    done = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        before, done = done, sum(worked)
        assert done - before <= 1
        assert max(worked) - min(worked) <= 1

    assert worked == [5] * 20


async def test_who_gives_up_waiting_keeps_nobody_waiting() -> None:
    turns = Turns(0.0)
    waiting = [asyncio.ensure_future(turns.begin()) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()

    async with asyncio.timeout(5):
        await turns.begin()
