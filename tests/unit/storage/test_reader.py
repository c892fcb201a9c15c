"""Reads: which are served by the cache, which by etcd, and at which version."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from apis.meta.transaction import Delete, Put, Transaction, Unavailable
from storage.cache.reader import PAGE_BYTES, Patience
from storage.interface import (
    BadContinueToken,
    Expired,
    Facts,
    ListOptions,
    RawPage,
    TooLargeResourceVersion,
)
from storage.stack import Stack
from storage.transactor import Commit
from tests import storage_kit
from tests.fakes.memory_backend import MemoryBackend
from tests.storage_kit import (
    SHOOTS,
    a_body,
    a_put,
    a_stack,
    creating,
    deleting,
    shoot_key,
    take,
    versions,
)

KEYS = [shoot_key(f"shoot-{number}") for number in range(5)]


TURNS = 20
"""Of the event loop: more than a reader takes until it waits for the cache."""

SHORT = Patience(catch_up_seconds=0.02, future_seconds=0.05, turn_seconds=0.0)


def running(backend: MemoryBackend, commit: Commit) -> AbstractAsyncContextManager[Stack]:
    return storage_kit.running(backend, commit, patience=SHORT)


async def _filled() -> MemoryBackend:
    """Five shoots, created one after the other: revisions 2 to 6."""
    backend = MemoryBackend()
    for key in KEYS:
        await backend.commit(creating(key))
    return backend


async def test_a_consistent_read_sees_a_write_that_was_answered() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        for number in range(20):
            key = shoot_key(f"new-{number}")
            await backend.commit(creating(key))
            assert await stack.reader.get(key) is not None
            page = await stack.reader.list(SHOOTS, ListOptions())
            assert key in [record.key for record in page.records]
        assert backend.reads == 0


async def test_a_consistent_list_is_read_of_etcd_when_another_tenant_moved_it() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        await backend.move_on(10)
        page = await stack.reader.list(SHOOTS, ListOptions())
        assert page.resource_version == 16_999
        assert [record.key for record in page.records] == KEYS


async def test_a_version_that_only_etcd_has_heard_of_can_be_watched_and_asked_for() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        await backend.move_on(10)
        assert await stack.reader.get(KEYS[0], resource_version=16_999) is not None
        options = ListOptions(resource_version=16_999, match="NotOlderThan")
        page = await stack.reader.list(SHOOTS, options)
        assert page.resource_version == 16_999
        async with stack.reader.watch(SHOOTS, 16_999, None) as watch:
            await backend.commit(deleting(KEYS[0], 2))
            assert versions(await watch.next(1)) == [17_000]


async def test_reads_before_the_cache_is_loaded_are_etcds() -> None:
    backend = await _filled()
    stack = a_stack(backend, backend.commit, patience=SHORT)
    assert not stack.reader.synced
    assert await stack.reader.get(KEYS[0]) is not None
    page = await stack.reader.list(SHOOTS, ListOptions(resource_version=0))
    assert [record.key for record in page.records] == KEYS
    with pytest.raises(Unavailable):
        async with stack.reader.watch(SHOOTS, 0, None):
            pass


async def test_version_zero_is_whatever_the_cache_has() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        await backend.go_down()
        page = await stack.reader.list(SHOOTS, ListOptions(resource_version=0))
        assert page.resource_version == 6_999
        assert await stack.reader.get(KEYS[0], resource_version=0) is not None
        with pytest.raises(Unavailable):
            await stack.reader.get(KEYS[0])


@pytest.mark.parametrize("match", ["", "NotOlderThan"])
async def test_a_version_in_the_future_is_too_large(match: str) -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        with pytest.raises(TooLargeResourceVersion) as error:
            await stack.reader.list(SHOOTS, ListOptions(resource_version=9_000, match=match))
        assert (error.value.requested, error.value.current) == (9_000, 6_999)
        with pytest.raises(TooLargeResourceVersion):
            await stack.reader.get(KEYS[0], resource_version=9_000)
        with pytest.raises(TooLargeResourceVersion):
            async with stack.reader.watch(SHOOTS, 9_000, None):
                pass


async def test_a_version_in_the_near_future_is_waited_for() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        options = ListOptions(resource_version=7_000, match="NotOlderThan")
        asked = asyncio.ensure_future(stack.reader.list(SHOOTS, options))
        for _ in range(TURNS):
            await asyncio.sleep(0)
        assert not asked.done()
        await backend.commit(creating(shoot_key("new")))
        page = await asked
        assert page.resource_version == 7_999


async def test_exact_lists_what_was_at_that_version() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        page = await stack.reader.list(SHOOTS, ListOptions(resource_version=4_999, match="Exact"))
        assert [record.key for record in page.records] == KEYS[:3]
        assert page.resource_version == 4_999


@pytest.mark.parametrize("match", ["Exact", ""])
@pytest.mark.parametrize("limit", [0, 1])
async def test_exact_inside_a_transaction_is_the_state_at_that_position(
    match: str, limit: int
) -> None:
    backend = MemoryBackend()
    a, b, c, d = (shoot_key(name) for name in "abcd")
    await backend.commit(creating(a, c))
    changed = await backend.commit(
        Transaction({}, [a_put(a), Put(d, a_body(d)), Delete(c), Put(b, a_body(b))])
    )
    for restarted in (False, True):
        async with running(backend, backend.commit) as stack:
            if not restarted:
                await backend.commit(deleting(d, 3))
                await stack.reader.current_version()
            expected = {
                2_000: [(a, 2_000)],
                2_001: [(a, 2_000), (c, 2_001)],
                3_000: [(a, 3_000), (c, 2_001)],
                3_001: [(a, 3_000), (c, 2_001), (d, 3_001)],
                3_002: [(a, 3_000), (d, 3_001)],
                3_003: [(a, 3_000), (b, 3_003), (d, 3_001)],
                3_999: [(a, 3_000), (b, 3_003), (d, 3_001)],
                4_000: [(a, 3_000), (b, 3_003)],
            }
            assert changed.revision == 3
            for version, state in expected.items():
                if not limit and not match:
                    continue
                seen: list[tuple[str, int]] = []
                options = ListOptions(resource_version=version, match=match, limit=limit)
                while True:
                    page = await stack.reader.list(SHOOTS, options)
                    assert page.resource_version == version
                    seen += [(record.key, record.resource_version) for record in page.records]
                    if not page.continue_token:
                        break
                    options = ListOptions(limit=limit, continue_token=page.continue_token)
                assert seen == state


@pytest.mark.parametrize("version", [1, 999])
@pytest.mark.parametrize("options", [{"match": "Exact"}, {"limit": 1}])
async def test_before_the_first_revision_there_is_nothing_exact(
    version: int, options: dict[str, Any]
) -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        with pytest.raises(Expired):
            await stack.reader.list(SHOOTS, ListOptions(resource_version=version, **options))


async def test_exact_in_the_future_is_too_large() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        with pytest.raises(TooLargeResourceVersion) as error:
            await stack.reader.list(SHOOTS, ListOptions(resource_version=9_000, match="Exact"))
        assert (error.value.requested, error.value.current) == (9_000, 6_999)


async def test_a_continue_token_of_another_history_has_expired() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        page = await stack.reader.list(SHOOTS, ListOptions(limit=2))
        await backend.commit(creating(shoot_key("new")))
        assert await stack.reader.get(shoot_key("new")) is not None
        await backend.restore(4)
        with pytest.raises(Expired, match="continue parameter is too old"):
            await stack.reader.list(
                SHOOTS, ListOptions(limit=2, continue_token=page.continue_token)
            )


async def test_exact_below_the_compaction_has_expired() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        backend.compact(5)
        with pytest.raises(Expired):
            await stack.reader.list(SHOOTS, ListOptions(resource_version=4_999, match="Exact"))


async def test_pages_are_all_of_one_version_whatever_happens_in_between() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        seen: list[str] = []
        remaining: list[int | None] = []
        options = ListOptions(limit=2)
        for number in range(3):
            page = await stack.reader.list(SHOOTS, options)
            seen += [record.key for record in page.records]
            remaining.append(page.remaining)
            assert page.resource_version == 6_999
            await backend.commit(creating(shoot_key(f"shoot-3-{number}")))
            options = ListOptions(limit=2, continue_token=page.continue_token)
        assert seen == KEYS
        assert remaining == [3, 1, None]
        assert options.continue_token == ""


async def test_pages_with_a_selector_are_full_and_name_no_remaining_count() -> None:
    backend = await _filled()

    def odd(facts: Facts) -> bool:
        return facts.fields["metadata.name"] in ("shoot-1", "shoot-3")

    async with running(backend, backend.commit) as stack:
        first = await stack.reader.list(SHOOTS, ListOptions(limit=1, predicate=odd))
        await backend.commit(creating(shoot_key("later")))
        await stack.reader.list(SHOOTS, ListOptions())
        second = await stack.reader.list(
            SHOOTS, ListOptions(limit=5, predicate=odd, continue_token=first.continue_token)
        )
        assert [record.key for record in first.records] == [KEYS[1]]
        assert [record.key for record in second.records] == [KEYS[3]]
        assert (first.remaining, second.remaining, second.continue_token) == (None, None, "")


async def test_a_page_whose_version_is_compacted_has_expired() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        page = await stack.reader.list(SHOOTS, ListOptions(limit=2))
        await backend.commit(creating(shoot_key("new")))
        await stack.reader.get(shoot_key("new"))
        backend.compact(7)
        with pytest.raises(Expired):
            await stack.reader.list(SHOOTS, ListOptions(continue_token=page.continue_token))


@pytest.mark.parametrize("since", [1, 999])
async def test_a_watch_from_before_the_first_revision_is_too_old(since: int) -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        with pytest.raises(Expired, match=f"too old resource version: {since} "):
            async with stack.reader.watch(SHOOTS, since, None):
                pass


async def test_a_foreign_continue_token_is_refused() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        with pytest.raises(BadContinueToken):
            await stack.reader.list(SHOOTS, ListOptions(continue_token="bm9uc2Vuc2U"))


async def test_a_namespace_lists_its_own_objects_only() -> None:
    backend = await _filled()
    await backend.commit(creating(shoot_key("x", "garden-core-2")))
    async with running(backend, backend.commit) as stack:
        page = await stack.reader.list(f"{SHOOTS}garden-core/", ListOptions())
        assert [record.key for record in page.records] == KEYS


async def test_a_long_list_by_a_selector_lets_other_tasks_run() -> None:
    backend = await _filled()
    await backend.commit(creating(*(shoot_key(f"more-{number}") for number in range(40))))
    async with running(backend, backend.commit) as stack:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        running_beside = asyncio.ensure_future(other())
        options = ListOptions(resource_version=0, predicate=lambda _: True)
        page = await stack.reader.list(SHOOTS, options)
        running_beside.cancel()
        assert len(page.records) == 45
        assert turns >= 2


async def test_a_long_list_of_the_past_asks_etcd_for_few_bytes_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However large the objects are: an answer of etcd's is decoded as a whole."""
    backend, asked = await _filled(), list[int]()
    of_backend = backend.range

    async def noted(prefix: str, *, limit: int = 0, **more: Any) -> RawPage:
        asked.append(limit)
        return await of_backend(prefix, limit=limit, **more)

    monkeypatch.setattr(backend, "range", noted)
    keys = [shoot_key(f"large-{number:02}") for number in range(60)]
    large = {"large": "x" * (PAGE_BYTES // 20)}
    await backend.commit(
        Transaction(dict.fromkeys(keys, 0), [a_put(key, labels=large) for key in keys])
    )
    await backend.commit(creating(shoot_key("later")))
    async with running(backend, backend.commit) as stack:
        asked.clear()
        page = await stack.reader.list(SHOOTS, ListOptions(resource_version=7_999, match="Exact"))

    assert len(page.records) == 65
    assert max(asked) <= 20


async def test_a_watch_resumes_at_every_version_of_a_transaction() -> None:
    backend = MemoryBackend()
    async with running(backend, backend.commit) as stack:
        await backend.commit(creating(*KEYS))
        await backend.commit(
            Transaction({KEYS[0]: 2, KEYS[1]: 2}, [a_put(KEYS[0]), *deleting(KEYS[1], 2).writes])
        )
        everything = [2000, 2001, 2002, 2003, 2004, 3000, 3001]
        await stack.reader.get(KEYS[0])
        for since in [1999, *everything]:
            later = [version for version in everything if version > since]
            async with stack.reader.watch(SHOOTS, since, None) as watch:
                assert versions(await take(watch, len(later))) == later


async def test_a_watch_from_zero_gets_what_comes_from_now_on() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        async with stack.reader.watch(SHOOTS, 0, None) as watch:
            await backend.commit(creating(shoot_key("new")))
            assert versions(await watch.next(1)) == [7_000]
        assert len(stack.fanout) == 0


async def test_current_version_is_not_older_than_a_write_that_was_answered() -> None:
    backend = await _filled()
    async with running(backend, backend.commit) as stack:
        await backend.commit(creating(shoot_key("new")))
        assert await stack.reader.current_version() == 7_999
        assert stack.cache.revision == 7
