"""The storage contract: what `Backend` and a commit promise, whoever implements them."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing

import pytest

from apis.meta.keys import INTERNAL
from apis.meta.transaction import (
    Committed,
    Conflict,
    Delete,
    Header,
    Put,
    Record,
    Transaction,
    Write,
)
from storage.interface import Expired, PastEvent, RawEvent, TooLargeResourceVersion
from storage.versioner import version
from tests.contract.stacks import Stack


def body(value: str) -> bytes:
    return b'{"apiVersion":"v1","kind":"T","metadata":{"name":"%b"}}' % value.encode()


async def put(stack: Stack, key: str, value: str = "x", *, revision: int = 0) -> Committed:
    return await stack.commit(Transaction({key: revision}, [Put(key, body(value))]))


async def write(stack: Stack, guards: Mapping[str, int], *writes: Write) -> Committed:
    return await stack.commit(Transaction(guards, writes))


async def events_until(stack: Stack, after: int, last: int) -> list[tuple[int, Sequence[RawEvent]]]:
    """What a watch delivers from after `after` up to revision `last`, without empty batches and
    without what an implementation writes for itself."""
    seen: list[tuple[int, Sequence[RawEvent]]] = []
    async with asyncio.timeout(10), aclosing(stack.backend.events(after)) as batches:  # type: ignore[type-var]
        async for revision, events in batches:
            told = [event for event in events if not event.key.startswith(INTERNAL)]
            if told:
                seen.append((revision, told))
            if revision >= last:
                return seen
    raise AssertionError("the watch ended")


async def everything(stack: Stack, *, revision: int = 0) -> list[Record]:
    """All that exists, but for what an implementation writes for itself."""
    page = await stack.backend.range("", revision=revision)
    return [record for record in page.records if not record.key.startswith(INTERNAL)]


async def history(stack: Stack, after: int, until: int) -> list[tuple[int, Sequence[PastEvent]]]:
    """What history has from after `after` up to revision `until`, as `events_until` tells it."""
    seen: list[tuple[int, Sequence[PastEvent]]] = []
    async with asyncio.timeout(10), aclosing(stack.backend.replay(after, until)) as batches:
        async for revision, events in batches:
            told = [each for each in events if not each.event.key.startswith(INTERNAL)]
            if told and revision <= until:
                seen.append((revision, told))
            if revision >= until:
                return seen
    raise AssertionError("the history ended")


async def test_an_absent_key_reads_as_absent(stack: Stack) -> None:
    _, found = await stack.backend.read(["a"])
    assert found["a"].record is None
    assert found["a"].mod_revision == 0


async def test_a_put_is_read_back_as_it_was_committed(stack: Stack) -> None:
    header = Header({"cpu": "4"}, 3, {"m1": {"cpu": "2"}})
    committed = await write(stack, {"a": 0}, Put("a", body("a"), header))
    _, found = await stack.backend.read(["a"])
    assert found["a"].record == committed.records["a"]
    assert committed.records["a"].header == header


async def test_reads_are_of_one_revision_which_is_told(stack: Stack) -> None:
    committed = await put(stack, "a")
    revision, found = await stack.backend.read(["a", "b"])
    assert revision == committed.revision
    assert sorted(found) == ["a", "b"]


async def test_reading_no_keys_tells_the_revision(stack: Stack) -> None:
    committed = await put(stack, "a")
    assert await stack.backend.read([]) == (committed.revision, {})


async def test_more_keys_than_fit_one_request_are_read_at_one_revision(stack: Stack) -> None:
    await put(stack, "k299")
    _, found = await stack.backend.read([f"k{n}" for n in range(300)])
    assert [key for key, snapshot in found.items() if snapshot.record] == ["k299"]
    assert len(found) == 300


async def test_positions_count_the_writes_of_a_transaction(stack: Stack) -> None:
    committed = await write(stack, {"a": 0, "b": 0}, Put("b", body("b")), Put("a", body("a")))
    assert committed.records["b"].resource_version == version(committed.revision, 0)
    assert committed.records["a"].resource_version == version(committed.revision, 1)


async def test_a_guard_that_moved_is_a_conflict_with_its_present_value(stack: Stack) -> None:
    first = await put(stack, "a", "1")
    second = await put(stack, "a", "2", revision=first.revision)
    with pytest.raises(Conflict) as caught:
        await put(stack, "a", "3", revision=first.revision)
    assert caught.value.current["a"].record == second.records["a"]


async def test_a_conflict_tells_the_revision_as_of_which_its_values_are_true(stack: Stack) -> None:
    """Not that of a guard: what is learned as of an older revision counts for nothing beside a cache."""
    first = await put(stack, "a", "1")
    second = await put(stack, "a", "2", revision=first.revision)
    with pytest.raises(Conflict) as caught:
        await write(stack, {"a": first.revision, "b": 0}, Put("b", body("b")))
    assert caught.value.revision == second.revision


async def test_a_conflict_names_only_guards_that_moved(stack: Stack) -> None:
    first = await put(stack, "a")
    with pytest.raises(Conflict) as caught:
        await write(stack, dict.fromkeys("ab", first.revision) | {"c": 0}, Put("c", body("c")))
    assert sorted(caught.value.current) == ["b"]
    assert caught.value.current["b"].record is None


async def test_a_conflict_writes_nothing(stack: Stack) -> None:
    first = await put(stack, "a")
    with pytest.raises(Conflict):
        await write(stack, {"a": 0, "b": 0}, Put("b", body("b")))
    assert await everything(stack) == [first.records["a"]]


async def test_a_guard_for_absence_fails_where_the_key_exists(stack: Stack) -> None:
    await put(stack, "a")
    with pytest.raises(Conflict):
        await put(stack, "a")


async def test_a_delete_removes_the_key_at_its_own_version(stack: Stack) -> None:
    first = await put(stack, "a")
    committed = await write(stack, {"a": first.revision}, Delete("a"))
    _, found = await stack.backend.read(["a"])
    assert found["a"].record is None
    assert committed.deleted == {"a": version(committed.revision, 0)}


async def test_guards_that_write_nothing_are_only_checked(stack: Stack) -> None:
    first = await put(stack, "a")
    committed = await write(stack, {"a": first.revision, "b": 0})
    assert committed.records == {}
    assert await stack.backend.current_revision() == first.revision


async def test_a_range_is_in_key_order_and_of_its_prefix_only(stack: Stack) -> None:
    for key in ("p/b", "p/a", "q/a", "p", "p0"):
        await put(stack, key)
    page = await stack.backend.range("p/")
    assert [record.key for record in page.records] == ["p/a", "p/b"]
    assert (page.count, page.more) == (2, False)


async def test_the_empty_prefix_is_everything(stack: Stack) -> None:
    await put(stack, ".internal/x")
    await put(stack, "p/a")
    page = await stack.backend.range("")
    keys = [record.key for record in page.records]
    assert keys == sorted(keys)
    assert {".internal/x", "p/a"} <= set(keys)


async def test_a_range_goes_on_after_a_key(stack: Stack) -> None:
    for key in ("p/a", "p/b", "p/c"):
        await put(stack, key)
    first = await stack.backend.range("p/", limit=2)
    rest = await stack.backend.range("p/", start_after="p/b", limit=2)
    assert [record.key for record in first.records] == ["p/a", "p/b"]
    assert (first.more, rest.more) == (True, False)
    assert [record.key for record in rest.records] == ["p/c"]
    assert (first.count, rest.count) == (3, 1)


async def test_a_range_at_a_past_revision_shows_that_revision(stack: Stack) -> None:
    first = await put(stack, "p/a", "1")
    await put(stack, "p/a", "2", revision=first.revision)
    await put(stack, "p/b")
    page = await stack.backend.range("p/", revision=first.revision)
    assert list(page.records) == [first.records["p/a"]]
    assert page.revision == first.revision


async def test_a_range_larger_than_a_piece_is_whole_and_of_one_revision(stack: Stack) -> None:
    keys = [f"p/{n:04}" for n in range(1100)]
    for start in range(0, len(keys), 100):
        part = keys[start : start + 100]
        await write(stack, dict.fromkeys(part, 0), *[Put(key, body(key)) for key in part])
    page = await stack.backend.range("p/")
    limited = await stack.backend.range("p/", limit=600)
    assert [record.key for record in page.records] == keys
    assert (page.count, page.more) == (1100, False)
    assert (len(limited.records), limited.more, limited.count) == (600, True, 1100)


async def test_a_range_at_a_future_revision_is_refused(stack: Stack) -> None:
    committed = await put(stack, "a")
    with pytest.raises(TooLargeResourceVersion) as caught:
        await stack.backend.range("", revision=committed.revision + 100)
    assert caught.value.requested > caught.value.current >= version(committed.revision, 0)


async def test_a_range_at_a_compacted_revision_is_expired(stack: Stack) -> None:
    first = await put(stack, "a", "1")
    second = await put(stack, "a", "2", revision=first.revision)
    await stack.compact(second.revision)
    with pytest.raises(Expired):
        await stack.backend.range("", revision=first.revision)
    assert await everything(stack, revision=second.revision) == [second.records["a"]]


async def test_a_watch_delivers_whole_revisions_in_order(stack: Stack) -> None:
    start = await stack.backend.current_revision()
    first = await write(stack, {"a": 0, "b": 0}, Put("a", body("a")), Put("b", body("b")))
    second = await write(
        stack, {"b": first.revision, "a": first.revision}, Delete("b"), Put("a", body("A"))
    )
    seen = await events_until(stack, start, second.revision)
    assert [(revision, [event.key for event in events]) for revision, events in seen] == [
        (first.revision, ["a", "b"]),
        (second.revision, ["b", "a"]),
    ]


async def test_a_watch_tells_the_positions_that_the_commit_told(stack: Stack) -> None:
    start = await stack.backend.current_revision()
    keys = [f"k{n}" for n in range(6)]
    first = await write(stack, dict.fromkeys(keys, 0), *[Put(key, body(key)) for key in keys])
    order = ["k5", "k0", "k3", "k1", "k4"]
    writes = [Delete(key) if key in ("k5", "k3", "k4") else Put(key, body("2")) for key in order]
    second = await write(stack, dict.fromkeys(keys, first.revision), *writes)
    _, events = (await events_until(stack, start, second.revision))[-1]
    assert [event.key for event in events] == order
    assert [event.position for event in events] == [0, 1, 2, 3, 4]
    told = {k: r.resource_version for k, r in second.records.items()} | dict(second.deleted)
    assert {e.key: version(e.mod_revision, e.position) for e in events} == told


async def test_a_watch_delivers_records_as_they_were_committed(stack: Stack) -> None:
    start = await stack.backend.current_revision()
    committed = await write(stack, {"a": 0}, Put("a", body("a"), Header({"cpu": "1"})))
    [(_, [event])] = await events_until(stack, start, committed.revision)
    assert event.record == committed.records["a"]


async def test_a_watch_resumes_after_any_revision(stack: Stack) -> None:
    revisions = [(await put(stack, f"k{n}")).revision for n in range(4)]
    for index, revision in enumerate(revisions[:-1]):
        seen = await events_until(stack, revision, revisions[-1])
        assert [each for each, _ in seen] == revisions[index + 1 :]


async def test_a_watch_of_a_compacted_revision_is_expired(stack: Stack) -> None:
    revisions = [(await put(stack, f"k{n}")).revision for n in range(4)]
    await stack.compact(revisions[2])
    with pytest.raises(Expired):
        await events_until(stack, revisions[0], revisions[3])


async def test_a_watch_that_would_lack_the_deletes_of_the_compacted_revision_is_expired(
    stack: Stack,
) -> None:
    first = await put(stack, "a")
    second = await write(stack, {"a": first.revision, "b": 0}, Delete("a"), Put("b", body("b")))
    third = await put(stack, "c")
    await stack.compact(second.revision)
    with pytest.raises(Expired):
        await events_until(stack, first.revision, third.revision)
    assert len(await events_until(stack, second.revision, third.revision)) == 1


async def test_history_has_the_value_before_each_change(stack: Stack) -> None:
    start = await stack.backend.current_revision()
    first = await write(stack, {"a": 0, "b": 0}, Put("a", body("a")), Put("b", body("b")))
    second = await write(
        stack, {"b": first.revision, "a": first.revision}, Delete("b"), Put("a", body("A"))
    )
    third = await write(stack, {"b": 0}, Put("b", body("again")))
    for until in (second.revision, third.revision):
        expected = [
            (
                first.revision,
                [("a", 0, first.records["a"], None), ("b", 1, first.records["b"], None)],
            ),
            (
                second.revision,
                [
                    ("b", 0, None, first.records["b"]),
                    ("a", 1, second.records["a"], first.records["a"]),
                ],
            ),
            (third.revision, [("b", 0, third.records["b"], None)]),
        ]
        assert [
            (revision, [(e.event.key, e.event.position, e.event.record, e.before) for e in events])
            for revision, events in await history(stack, start, until)
        ] == [each for each in expected if each[0] <= until]


async def test_history_begins_after_any_revision_that_is_not_compacted(stack: Stack) -> None:
    revisions = [(await put(stack, f"k{n}")).revision for n in range(4)]
    await stack.compact(revisions[1])
    with pytest.raises(Expired):
        await history(stack, revisions[0], revisions[3])
    seen = await history(stack, revisions[1], revisions[3])
    assert [revision for revision, _ in seen] == revisions[2:]


async def test_a_history_whose_last_change_is_a_removal_comes_to_its_end(stack: Stack) -> None:
    first = await put(stack, "a")
    second = await write(stack, {"a": first.revision}, Delete("a"))
    [(revision, [removal])] = await history(stack, first.revision, second.revision)
    assert (revision, removal.event.record, removal.before) == (
        second.revision,
        None,
        first.records["a"],
    )


async def test_the_current_revision_is_never_older_than_a_commit_before_it(stack: Stack) -> None:
    for number in range(5):
        committed = await put(stack, f"k{number}")
        assert await stack.backend.current_revision() >= committed.revision


async def test_concurrent_transactions_each_get_their_own_outcome(stack: Stack) -> None:
    outcomes = await asyncio.gather(*[put(stack, f"k{n}", str(n)) for n in range(100)])
    versions = [out.records[f"k{n}"].resource_version for n, out in enumerate(outcomes)]
    assert len(set(versions)) == 100
    stored = {record.key: record for record in await everything(stack)}
    assert stored == {key: record for out in outcomes for key, record in out.records.items()}
