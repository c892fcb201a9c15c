"""Shutdown ends waiting watches."""

import asyncio

import pytest

from apis.meta.errors import StatusError
from quotaapi.endpoints.watching import MAX_QUERY_BYTES, Watches


async def test_the_end_wakes_a_watch_that_waits() -> None:
    watches, waiting = Watches(), asyncio.Event()

    async def watch() -> str:
        try:
            async with watches.interruptible():
                waiting.set()
                await asyncio.Event().wait()
        except TimeoutError:
            return "ended"
        return "?"

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(watch())
        await waiting.wait()
        watches.end()

    assert task.result() == "ended"


async def test_after_the_end_nothing_waits() -> None:
    watches = Watches()
    watches.end()

    with pytest.raises(TimeoutError):
        async with watches.interruptible():
            await asyncio.Event().wait()


async def test_a_watch_that_does_not_wait_is_forgotten() -> None:
    watches = Watches()

    async with watches.interruptible():
        pass
    watches.end()

    assert watches.ended


def test_long_queries_of_open_watches_are_bounded() -> None:
    watches = Watches()
    with watches.counted(MAX_QUERY_BYTES):
        with pytest.raises(StatusError) as refused, watches.counted(1):
            pass
        with watches.counted():
            assert watches.open == 2
    assert refused.value.code == 429
    with watches.counted(MAX_QUERY_BYTES + 1):
        assert watches.open == 1
