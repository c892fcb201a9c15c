"""A round through the workers, which this test plays."""

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from quotaapi.endpoints.metrics import counter
from quotaapi.server.census import Census
from quotaapi.server.channel import Channel, Message, pair
from quotaapi.server.distributor import Place
from quotaapi.server.totals import from_wire, to_wire


class Worker:
    def __init__(self, number: int) -> None:
        mine, theirs = pair()
        self.place = Place(number, Channel(mine), serving=True)
        self.channel = Channel(theirs)
        self.heard: asyncio.Queue[Message] = asyncio.Queue()
        self.channel.listen(lambda message, _: self.heard.put_nowait(message), lambda: None)

    async def next(self) -> Message:
        async with asyncio.timeout(5):
            return await self.heard.get()

    async def answers(self, census: Census, value: float) -> None:
        asked = (await self.next())["collect"]
        families = to_wire([counter("c_total", "C.", value)])
        census.told(self.place, {"collected": asked, "families": families})

    async def totals(self) -> dict[str, float]:
        families = from_wire((await self.next())["totals"])
        return {family.name: sum(family.samples.values()) for family in families}

    def close(self) -> None:
        self.channel.close()
        self.place.channel.close()


@pytest_asyncio.fixture
async def workers() -> AsyncIterator[list[Worker]]:
    made = [Worker(number) for number in range(2)]
    yield made
    for worker in made:
        worker.close()


async def test_all_are_asked_once_and_all_who_asked_are_told_the_sum(workers) -> None:
    one, other = workers
    async with asyncio.TaskGroup() as tasks:
        census = Census(2, [one.place, other.place], dict, tasks)
        census.asked(one.place)
        census.asked(other.place)
        await one.answers(census, 3)
        await other.answers(census, 4)
        for worker in workers:
            told = await worker.totals()
            assert told["c_total"] == 7
            assert told["quotaapi_workers_left_out_total"] == 0
    assert one.heard.empty()
    assert other.heard.empty()


async def test_one_that_ends_is_not_waited_for_and_its_counters_stay(workers) -> None:
    one, other = workers
    places = [one.place, other.place]
    async with asyncio.TaskGroup() as tasks:
        census = Census(2, places, dict, tasks)
        census.told(
            other.place, {"collected": 0, "families": to_wire([counter("c_total", "C.", 4)])}
        )
        census.asked(one.place)
        await one.answers(census, 3)
        places.remove(other.place)
        census.ended(1)
        told = await one.totals()
    assert told["c_total"] == 7
    assert told["quotaapi_workers_left_out_total"] == 0


async def test_where_nobody_serves_nobody_is_waited_for(workers) -> None:
    leaving = workers[0]
    leaving.place.serving = False
    async with asyncio.TaskGroup() as tasks:
        census = Census(2, [leaving.place], dict, tasks)
        census.asked(leaving.place)
        for _ in range(5):
            await asyncio.sleep(0)
        assert "totals" in leaving.heard.get_nowait()


async def test_a_fault_ends_its_round_and_nothing_else(workers, caplog) -> None:
    one, _ = workers
    failed = asyncio.Event()

    def fail_once() -> dict[int, int]:
        if failed.is_set():
            return {}
        failed.set()
        raise RuntimeError("numbers that do not fit")

    async with asyncio.TaskGroup() as tasks:
        census = Census(2, [one.place], fail_once, tasks)
        census.asked(one.place)
        await one.answers(census, 3)
        await failed.wait()

        census.asked(one.place)
        await one.answers(census, 4)
        told = await one.totals()

    assert told["c_total"] == 4
    assert "numbers that do not fit" in caplog.text
