"""Work on large objects: in threads, bounded, and with the same outcome."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from apis.meta import codec
from apis.meta.codec import Decoded
from apis.meta.errors import StatusError
from apis.meta.transaction import Object
from quotaapi.registry.heavy import LARGE_BYTES, Heavy
from quotaapi.registry.options import WriteOptions, Written
from tests.builders import a_quota
from tests.fakes.registry_rig import NAMESPACE, USER, Rig, merging


def a_body(obj: Object, size: int) -> Decoded:
    return Decoded(codec.copy(obj), size=size)


def labelled(**labels: str) -> Object:
    quota = a_quota(name="a")
    quota["metadata"]["labels"] = labels
    return quota


async def create(rig: Rig, size: int) -> Written:
    return await rig.store.create(USER, NAMESPACE, a_body(labelled(a="b"), size), WriteOptions())


async def update(rig: Rig, size: int) -> Written:
    created = await create(rig, 0)
    obj = labelled(a="c")
    obj["metadata"]["resourceVersion"] = str(created.resource_version)
    return await rig.store.update(USER, NAMESPACE, "a", a_body(obj, size), WriteOptions())


async def patch(rig: Rig, size: int) -> Written:
    await create(rig, 0)
    transform = merging({"metadata": {"labels": {"a": "d"}}})
    return await rig.store.patch(USER, NAMESPACE, "a", transform, WriteOptions(), size=size)


async def apply(rig: Rig, size: int) -> Written:
    config = a_body(labelled(a="e"), size)
    options = WriteOptions(field_manager="m")
    return await rig.store.apply(USER, NAMESPACE, "a", config, options)


async def refused(rig: Rig, size: int) -> Written:
    body = a_body(labelled(**{"no label!": "x"}), size)
    return await rig.store.create(USER, NAMESPACE, body, WriteOptions())


Write = Callable[[Rig, int], Awaitable[Written]]


@pytest.mark.parametrize("write", [create, update, patch, apply])
async def test_a_large_object_is_written_as_a_small_one_is(write: Write) -> None:
    assert await write(Rig(), LARGE_BYTES) == await write(Rig(), 0)


async def test_a_large_object_is_refused_as_a_small_one_is() -> None:
    told: list[Any] = []
    for size in (0, LARGE_BYTES):
        with pytest.raises(StatusError) as refusal:
            await refused(Rig(), size)
        told.append(refusal.value.status())

    small, large = told
    assert small["code"] == 422
    assert small == large


async def test_a_step_runs_in_another_thread_and_is_counted_while_it_does() -> None:
    heavy = Heavy()
    seen: list[tuple[int, int]] = []

    def step(factor: int) -> int:
        seen.append((threading.get_ident(), heavy.waiting_bytes))
        return factor * 2

    assert await heavy.run(100, step, 21) == 42
    ((thread, waiting),) = seen
    assert thread != threading.get_ident()
    assert waiting == 100
    assert heavy.waiting_bytes == 0


async def test_what_a_step_raises_is_raised() -> None:
    heavy = Heavy()

    def step() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await heavy.run(1, step)
    assert heavy.waiting_bytes == 0


async def test_after_the_end_nothing_begins_and_what_has_begun_is_not_denied() -> None:
    heavy = Heavy()
    heavy.close()
    for _ in range(5):  # more often than there are threads: turns are given back
        with pytest.raises(StatusError) as refusal:
            await heavy.begin(1, int, "1")
        assert refusal.value.code == 503
        with pytest.raises(ConnectionError):
            await heavy.run(1, int, "1")
    assert heavy.waiting_bytes == 0


class Gate:
    """Steps that go on when they are told to, and what they were in order."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.opened = threading.Event()
        self.begun, self.ended = threading.Semaphore(0), threading.Semaphore(0)

    def step(self, name: str) -> None:
        self.begun.release()
        assert self.opened.wait(30)
        self.order.append(name)
        self.ended.release()


async def turns_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_first_step_is_refused_where_too_many_bytes_wait() -> None:
    heavy, gate = Heavy(max_waiting_bytes=100), Gate()
    async with asyncio.TaskGroup() as running:
        running.create_task(heavy.begin(1_000, gate.step, "alone, whatever its size"))
        await turns_of_the_loop()
        with pytest.raises(StatusError) as refusal:
            await heavy.begin(1, gate.step, "one more")
        running.create_task(heavy.run(1, gate.step, "what was begun"))
        gate.opened.set()

    assert refusal.value.code == 429
    assert refusal.value.retry_after_seconds == 1
    assert sorted(gate.order) == ["alone, whatever its size", "what was begun"]


async def test_what_was_begun_goes_before_what_is_to_begin() -> None:
    heavy, gate = Heavy(threads=1), Gate()
    async with asyncio.TaskGroup() as running:
        running.create_task(heavy.begin(1, gate.step, "runs"))
        await turns_of_the_loop()
        for name in ("begins", "begins later"):
            running.create_task(heavy.begin(1, gate.step, name))
        await turns_of_the_loop()
        for name in ("goes on", "goes on, too"):
            running.create_task(heavy.run(1, gate.step, name))
        await turns_of_the_loop()
        gate.opened.set()

    assert gate.order == ["runs", "goes on", "goes on, too", "begins", "begins later"]


async def test_who_leaves_while_waiting_or_running_takes_no_turn_from_others() -> None:
    heavy, gate = Heavy(), Gate()
    holding = [asyncio.ensure_future(heavy.begin(1, gate.step, f"holds {n}")) for n in range(2)]
    for _ in holding:
        assert await asyncio.to_thread(gate.begun.acquire, timeout=30)
    waiting = [asyncio.ensure_future(heavy.run(1, gate.step, f"waits {n}")) for n in range(3)]
    await turns_of_the_loop()
    for task in (holding[0], waiting[0], waiting[1]):
        task.cancel()
    gate.opened.set()
    await asyncio.wait((*holding, *waiting))
    for _ in range(3):  # the thread of one that has left goes on
        assert await asyncio.to_thread(gate.ended.acquire, timeout=30)

    assert sorted(gate.order) == ["holds 0", "holds 1", "waits 2"]
    assert await heavy.run(1, lambda: "free") == "free"
    assert heavy.waiting_bytes == 0


async def test_a_large_write_that_waits_for_its_object_is_counted_as_waiting() -> None:
    rig = Rig()
    heavy = rig.store._machinery.heavy
    await create(rig, 0)
    key = rig.store._machinery.key(NAMESPACE, "a")
    transform = merging({"metadata": {"labels": {"a": "d"}}})
    async with asyncio.TaskGroup() as tasks, rig.store._machinery.transactor.claim_object(key):
        tasks.create_task(
            rig.store.patch(USER, NAMESPACE, "a", transform, WriteOptions(), size=LARGE_BYTES)
        )
        for _ in range(5):  # turns of the loop, more than it takes to come to the claim
            await asyncio.sleep(0)
        assert heavy.waiting_bytes == LARGE_BYTES
    assert heavy.waiting_bytes == 0
