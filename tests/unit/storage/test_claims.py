"""Claims: exclusive, shared, first come first served, and nothing left behind by cancellation."""

import asyncio

import pytest

from storage.claims import Claims


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_exclusive_claim_refuses_every_other_claim_of_the_key() -> None:
    claims = Claims()
    claim = claims.try_claim(["a"], [])
    assert claim is not None
    assert claims.try_claim(["a"], []) is None
    assert claims.try_claim([], ["a"]) is None
    claim.release()
    assert claims.try_claim(["a"], []) is not None


async def test_shared_claims_exclude_exclusive_ones_only() -> None:
    claims = Claims()
    first, second = claims.try_claim([], ["a"]), claims.try_claim([], ["a"])
    assert first is not None
    assert second is not None
    assert claims.try_claim(["a"], []) is None
    first.release()
    assert claims.try_claim(["a"], []) is None
    second.release()
    assert claims.try_claim(["a"], []) is not None


async def test_a_refused_claim_leaves_no_key_claimed() -> None:
    claims = Claims()
    held = claims.try_claim(["b"], [])
    assert held is not None
    assert claims.try_claim(["a", "b"], ["c"]) is None
    assert claims.try_claim(["a", "c"], []) is not None


async def test_a_key_named_both_ways_is_claimed_exclusively() -> None:
    claims = Claims()
    claim = claims.try_claim(["a"], ["a", "b"])
    assert claim is not None
    assert claims.try_claim([], ["a"]) is None
    claim.release()
    assert claims.table.statistics() == {"exclusive": 0, "shared": 0, "waiting": 0}


async def test_releasing_twice_frees_nobody_elses_claim() -> None:
    claims = Claims()
    first = claims.try_claim(["a"], [])
    assert first is not None
    first.release()
    second = claims.try_claim(["a"], [])
    assert second is not None
    first.release()
    assert claims.try_claim(["a"], []) is None


async def test_objects_are_claimed_in_arrival_order() -> None:
    claims = Claims()
    order: list[int] = []

    async def work(number: int) -> None:
        async with claims.claim_object("a"):
            order.append(number)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(work(number))

    assert order == [0, 1, 2, 3, 4]


async def test_a_key_awaited_by_a_writer_refuses_batches() -> None:
    claims = Claims()
    batch = claims.try_claim([], ["quota"])
    assert batch is not None

    async def edit() -> None:
        async with claims.claim_object("quota"):
            pass

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(edit())
        await _settle()
        assert claims.try_claim([], ["quota"]) is None
        batch.release()
        assert claims.try_claim([], ["quota"]) is None

    assert claims.try_claim(["quota"], []) is not None


async def test_a_waiter_that_is_cancelled_opens_the_key_to_shares_again() -> None:
    claims = Claims()
    calls: list[None] = []
    claims.on_release(lambda: calls.append(None))
    assert claims.try_claim([], ["quota"]) is not None
    waiting = asyncio.ensure_future(claims.claim_object("quota").__aenter__())
    await _settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await _settle()

    assert claims.try_claim([], ["quota"]) is not None
    assert calls == [None]


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_a_waiter_cancelled_in_the_turn_it_is_served_passes_the_key_on(
    cancelled_first: bool,
) -> None:
    claims = Claims()
    held = claims.try_claim(["a"], [])
    assert held is not None
    first = asyncio.ensure_future(claims.claim_object("a").__aenter__())
    second = asyncio.ensure_future(claims.claim_object("a").__aenter__())
    await _settle()
    if cancelled_first:
        first.cancel()
        held.release()
    else:
        held.release()
        first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first

    await asyncio.wait_for(second, 1.0)
    assert claims.table.statistics() == {"exclusive": 1, "shared": 0, "waiting": 0}


async def test_an_error_in_the_block_releases_the_object() -> None:
    claims = Claims()
    with pytest.raises(ZeroDivisionError):
        async with claims.claim_object("a"):
            raise ZeroDivisionError
    assert claims.try_claim(["a"], []) is not None


async def test_listeners_hear_of_many_releases_in_one_turn_once() -> None:
    claims = Claims()
    calls: list[None] = []
    claims.on_release(lambda: calls.append(None))
    held = [claims.try_claim([key], []) for key in "abc"]
    for claim in held:
        assert claim is not None
        claim.release()
    assert calls == []
    await _settle()
    assert calls == [None]
