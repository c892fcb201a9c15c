"""The transactor: newest values, and what it learns from commits, conflicts and confirmations."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from apis.meta.transaction import Committed, Conflict, Snapshot, Transaction, Unavailable
from storage.transactor import Transactor
from tests.fakes.memory_backend import MemoryBackend
from tests.pace import times_longer
from tests.storage_kit import a_put, a_stack, creating, deleting, running, shoot_key

KEY = shoot_key("x")
OTHER = shoot_key("y")


def _unsynced(backend: MemoryBackend) -> Transactor:
    stack = a_stack(backend, backend.commit)
    assert isinstance(stack.transactor, Transactor)
    return stack.transactor


async def test_newest_of_a_synced_cache_asks_etcd_nothing() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    async with running(backend, backend.commit) as stack:
        found = await stack.transactor.newest([KEY, OTHER])
        assert found[KEY].mod_revision == 2
        assert found[OTHER] == Snapshot(OTHER, None)
        assert backend.reads == 0


async def test_a_commit_is_newest_before_the_cache_hears_of_it() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        committed = await stack.transactor.commit(creating(KEY))
        assert stack.cache.revision < committed.revision
        found = await stack.transactor.newest([KEY])
        assert found[KEY].record == committed.records[KEY]


async def test_a_delete_is_newest_before_the_cache_hears_of_it() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    async with running(backend, backend.commit) as stack:
        await stack.transactor.commit(deleting(KEY, 2))
        assert stack.cache.record(KEY) is not None
        assert await stack.transactor.newest([KEY]) == {KEY: Snapshot(KEY, None)}


async def test_after_a_conflict_newest_is_what_the_compare_returned() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY, OTHER))
    async with running(backend, backend.commit) as stack:
        await backend.commit(deleting(KEY, 2))
        await backend.commit(Transaction({OTHER: 2}, [a_put(OTHER)]))
        stale = Transaction({KEY: 2, OTHER: 2}, [a_put(KEY), a_put(OTHER)])
        with pytest.raises(Conflict):
            await stack.transactor.commit(stale)
        assert backend.reads == 0
        found = await stack.transactor.newest([KEY, OTHER])
        assert found[KEY].mod_revision == 0
        assert found[OTHER].mod_revision == 4


async def test_a_conflict_about_a_removed_key_outdoes_what_this_process_wrote() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        await backend.move_on(5)
        committed = await stack.transactor.commit(creating(KEY))
        await backend.commit(deleting(KEY, committed.revision))
        update = Transaction({KEY: committed.revision}, [a_put(KEY)])
        with pytest.raises(Conflict):
            await stack.transactor.commit(update)
        assert await stack.transactor.newest([KEY]) == {KEY: Snapshot(KEY, None)}


async def test_a_conflict_does_not_hide_what_the_cache_heard_meanwhile() -> None:
    """The failed compare found the key gone; before its answer is read it is back, in the cache."""
    backend = MemoryBackend()
    first = await backend.commit(creating(KEY))

    async def commit(transaction: Transaction) -> Committed:
        try:
            return await backend.commit(transaction)
        except Conflict:
            back = await backend.commit(creating(KEY))
            await stack.reflector.wait_for_revision(back.revision, 5)
            raise

    async with running(backend, commit) as stack:
        await backend.commit(deleting(KEY, first.revision))
        with pytest.raises(Conflict):
            await stack.transactor.commit(Transaction({KEY: first.revision}, [a_put(KEY)]))
        found = await stack.transactor.newest([KEY])
        assert found[KEY].record is not None
        assert await stack.transactor.confirm({KEY: found[KEY].mod_revision})


async def test_confirm_tells_current_from_stale_and_newest_then_has_what_was_read() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    async with running(backend, backend.commit) as stack:
        assert await stack.transactor.confirm({KEY: 2, OTHER: 0})
        await backend.commit(Transaction({KEY: 2}, [a_put(KEY)]))
        assert not await stack.transactor.confirm({KEY: 2, OTHER: 0})
        found = await stack.transactor.newest([KEY])
        assert found[KEY].mod_revision == 3


async def test_confirmations_asked_together_share_one_request() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        answers = await asyncio.gather(
            *(stack.transactor.confirm({shoot_key(str(n)): 0}) for n in range(20))
        )
        assert all(answers)
        assert backend.reads <= 2


async def test_a_cancelled_confirmation_does_not_fail_those_that_share_its_request() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        first = asyncio.ensure_future(stack.transactor.confirm({KEY: 0}))
        second = asyncio.ensure_future(stack.transactor.confirm({OTHER: 0}))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second


async def test_newest_before_the_cache_has_synced_is_a_live_read_that_is_kept() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    transactor = _unsynced(backend)
    await transactor.newest([KEY])
    found = await transactor.newest([KEY])
    assert found[KEY].mod_revision == 2
    assert backend.reads == 1


async def test_a_commit_outdoes_a_live_read_that_is_kept() -> None:
    backend = MemoryBackend()
    transactor = _unsynced(backend)
    await transactor.newest([KEY])
    await transactor.commit(creating(KEY))
    found = await transactor.newest([KEY])
    assert found[KEY].mod_revision == 2


async def test_a_conflict_outdoes_a_live_read_that_is_kept() -> None:
    backend = MemoryBackend()
    await backend.commit(creating(KEY))
    transactor = _unsynced(backend)
    await transactor.newest([KEY])
    await backend.commit(deleting(KEY, 2))
    with pytest.raises(Conflict):
        await transactor.commit(Transaction({KEY: 2}, [a_put(KEY)]))
    assert await transactor.newest([KEY]) == {KEY: Snapshot(KEY, None)}


async def test_newest_without_cache_and_etcd_is_unavailable() -> None:
    backend = MemoryBackend()
    backend.down = True
    with pytest.raises(Unavailable):
        await _unsynced(backend).newest([KEY])


async def test_claiming_an_object_costs_microseconds() -> None:
    """Some 2 µs: about twice what a lock of asyncio's does."""
    transactor, lock = _unsynced(MemoryBackend()), asyncio.Lock()

    def often(holding: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        async def hold() -> None:
            for _ in range(1_000):
                async with holding():
                    pass

        # Nobody else wants it, so that it never waits.
        with pytest.raises(StopIteration):
            hold().send(None)

    claiming, locking = partial(transactor.claim_object, KEY), lambda: lock
    assert times_longer(partial(often, claiming), partial(often, locking)) < 20
