"""Requests that are shared without ever giving an old answer to a new question."""

import asyncio

import pytest

from apis.meta.transaction import Unavailable
from storage.etcd.shared import SharedAnswer


class Source:
    """Answers when told to; the answer is the number of the request."""

    def __init__(self) -> None:
        self.requests: list[asyncio.Future[None]] = []

    async def ask(self) -> int:
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.requests.append(gate)
        number = len(self.requests)
        await gate
        return number


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_asks_during_a_request_waits_for_the_next_one() -> None:
    source = Source()
    shared = SharedAnswer(source.ask)
    first = asyncio.ensure_future(shared.get())
    await turns()
    others = [asyncio.ensure_future(shared.get()) for _ in range(10)]
    await turns()
    assert len(source.requests) == 1
    source.requests[0].set_result(None)
    await turns()
    assert await first == 1
    assert len(source.requests) == 2
    source.requests[1].set_result(None)
    assert await asyncio.gather(*others) == [2] * 10
    assert len(source.requests) == 2


async def test_a_failure_is_shared_by_those_whose_request_failed() -> None:
    source = Source()
    shared = SharedAnswer(source.ask)
    first = asyncio.ensure_future(shared.get())
    await turns()
    others = [asyncio.ensure_future(shared.get()) for _ in range(3)]
    await turns()
    source.requests[0].set_exception(Unavailable("away"))
    await turns()
    source.requests[1].set_exception(Unavailable("still away"))
    outcomes = await asyncio.gather(first, *others, return_exceptions=True)
    assert [str(each) for each in outcomes] == ["away", *["still away"] * 3]


async def test_an_asker_that_is_cancelled_does_not_take_the_others_along() -> None:
    source = Source()
    shared = SharedAnswer(source.ask)
    first = asyncio.ensure_future(shared.get())
    await turns()
    others = [asyncio.ensure_future(shared.get()) for _ in range(3)]
    await turns()
    first.cancel()
    await turns()
    others[0].cancel()
    await turns()
    source.requests[-1].set_result(None)
    assert await asyncio.gather(*others[1:]) == [3, 3]
    for cancelled in (first, others[0]):
        with pytest.raises(asyncio.CancelledError):
            await cancelled


async def test_askers_one_after_the_other_each_get_a_request() -> None:
    source = Source()
    shared = SharedAnswer(source.ask)
    for number in (1, 2, 3):
        asking = asyncio.ensure_future(shared.get())
        await turns()
        source.requests[-1].set_result(None)
        assert await asking == number
