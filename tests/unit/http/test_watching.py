"""Shutdown ends waiting watches."""

import asyncio

import pytest

from quotaapi.endpoints.watching import Watches


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
