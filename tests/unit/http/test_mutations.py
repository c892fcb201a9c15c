"""Writes outlive their clients."""

import asyncio

import pytest

from apis.meta.errors import StatusError, bad_request
from quotaapi.endpoints.mutations import Mutations, refuse_when_full


async def test_a_write_answers_what_it_returns() -> None:
    async def write() -> int:
        return 7

    async with asyncio.TaskGroup() as tasks:
        assert await Mutations(tasks, 1).run(write()) == 7


async def test_a_write_that_fails_fails_its_caller_and_nothing_else() -> None:
    async def write() -> int:
        raise bad_request("no")

    async with asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 1)
        with pytest.raises(StatusError):
            await mutations.run(write())
        assert mutations.running == 0


async def test_a_caller_that_leaves_does_not_end_its_write() -> None:
    begun, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def write() -> None:
        begun.set()
        await go.wait()
        ended.set()

    async with asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 1)
        caller = tasks.create_task(mutations.run(write()))
        await begun.wait()
        caller.cancel()
        await asyncio.wait([caller])
        assert (mutations.running, ended.is_set()) == (1, False)
        go.set()
        assert await mutations.wait_idle(5)
    assert ended.is_set()


async def test_as_many_writes_as_the_limit_allows_run_at_once() -> None:
    go = asyncio.Event()

    async def write() -> None:
        await go.wait()

    async with asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 1)
        refuse_when_full(mutations)
        running = tasks.create_task(mutations.run(write()))
        await asyncio.sleep(0)
        with pytest.raises(StatusError) as refusal:
            refuse_when_full(mutations)
        go.set()
        await running
    assert (refusal.value.code, refusal.value.retry_after_seconds) == (429, 1)


async def test_waiting_for_writes_ends_when_the_time_is_up() -> None:
    go = asyncio.Event()

    async def write() -> None:
        await go.wait()

    async with asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 1)
        running = tasks.create_task(mutations.run(write()))
        await asyncio.sleep(0)
        assert not await mutations.wait_idle(0.01)
        go.set()
        await running


async def test_writes_that_are_cut_off_do_not_hold_up_the_servers_end() -> None:
    async def write() -> None:
        await asyncio.Event().wait()

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 2)
        callers = [tasks.create_task(mutations.run(write())) for _ in range(2)]
        await asyncio.sleep(0)
        assert not await mutations.wait_idle(0.01)
        mutations.cut_off()
        await asyncio.wait(callers)
    assert all(caller.cancelled() for caller in callers)


async def test_a_write_that_comes_after_the_end_is_told_so_and_not_begun() -> None:
    async with asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 1)
        mutations.cut_off()
        with pytest.raises(StatusError) as refusal:
            await mutations.run(never_begun())
    assert (refusal.value.code, refusal.value.retry_after_seconds) == (503, 1)
    assert mutations.running == 0


async def test_a_write_that_the_ended_group_cannot_carry_out_is_told_so() -> None:
    """Whether the server was asked to end or one of its own tasks failed."""
    async with asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 1)
    with pytest.raises(StatusError) as refusal:
        await mutations.run(never_begun())
    assert refusal.value.code == 503
    assert await mutations.wait_idle(5)


async def test_a_write_that_is_cut_off_before_its_first_step_leaves_nobody_waiting() -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, 1)
        caller = asyncio.ensure_future(mutations.run(never_begun()))
        await asyncio.sleep(0)
        mutations.cut_off()
        await asyncio.wait([caller])
    assert caller.cancelled()
    assert mutations.running == 0
    assert await mutations.wait_idle(5)


async def never_begun() -> None:
    raise AssertionError("this write was not to begin")
