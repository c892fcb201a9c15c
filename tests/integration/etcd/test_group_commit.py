"""Group commit on a real etcd: what goes together, and who gets which conflict."""

import asyncio
from collections.abc import Sequence

import pytest

from apis.meta.keys import INTERNAL
from apis.meta.transaction import (
    Committed,
    Conflict,
    Delete,
    Put,
    TooLarge,
    Transaction,
    Unavailable,
)
from storage.etcd.merging import Limits
from tests.contract.stacks import EtcdStack, etcd_stack
from tests.etcd_process import EtcdProcess
from tests.integration.etcd.helpers import body, create, history, update

pytestmark = pytest.mark.integration


async def together(
    stack: EtcdStack, *transactions: Transaction
) -> Sequence[Committed | BaseException]:
    """Commit in one turn of the loop, so that all of them are in the queue before any is sent."""
    return await asyncio.gather(
        *[stack.commits.commit(each) for each in transactions], return_exceptions=True
    )


async def test_transactions_that_wait_together_go_as_one(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        outcomes = await together(stack, *[create(f"k{n}") for n in range(50)])
        revisions = {out.revision for out in outcomes if isinstance(out, Committed)}
        assert len(revisions) == 1
        assert stack.commits.statistics().transactions == 1


async def test_three_hundred_writes_go_in_as_many_groups_as_the_limit_asks_for(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        start = await stack.store.current_revision()
        outcomes = await together(stack, *[create(f"k{n}") for n in range(300)])
        assert all(isinstance(out, Committed) for out in outcomes)
        sizes = [len(events) for _, events in await history(stack.store, start)]
        assert sizes == [125 + 1, 125 + 1, 50 + 1]  # each raises the fence
        assert stack.commits.statistics().transactions == 3


async def test_only_the_transactions_concerned_get_the_conflict(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        taken = await stack.commits.commit(create("k3"))
        outcomes = await together(stack, *[create(f"k{n}") for n in range(6)])
        [conflict] = [out for out in outcomes if isinstance(out, BaseException)]
        assert conflict is outcomes[3]
        assert isinstance(conflict, Conflict)
        assert conflict.current["k3"].record == taken.records["k3"]
        statistics = stack.commits.statistics()
        assert (statistics.conflicts, statistics.failed_compares, statistics.committed) == (1, 1, 6)


async def test_a_conflict_with_what_moved_before_the_sending_is_told_without_etcds_history(
    etcd_process: EtcdProcess, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch of the past takes etcd up to 100 ms, and meanwhile nothing else is committed."""
    async with (
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as stack,
    ):
        before = await other.commits.commit(create("k"))
        moved = await other.commits.commit(update("k", before.revision))
        assert await stack.store.current_revision() == moved.revision
        monkeypatch.delattr(type(stack.store), "raw_events")
        with pytest.raises(Conflict):
            await stack.commits.commit(update("k", before.revision))


async def test_a_moved_guard_that_several_share_is_a_conflict_for_each_of_them(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        shared = await stack.commits.commit(create("shared"))
        seen = shared.revision
        await stack.commits.commit(update("shared", seen))
        relying = [
            Transaction({f"k{n}": 0, "shared": seen}, [Put(f"k{n}", body())]) for n in range(3)
        ]
        *refused, last = await together(stack, *relying, create("other"))
        assert all(
            isinstance(each, Conflict) and list(each.current) == ["shared"] for each in refused
        )
        assert isinstance(last, Committed)


async def test_a_guard_that_several_share_is_compared_once(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        shared = await stack.commits.commit(create("shared"))
        relying = [
            Transaction({f"k{n}": 0, "shared": shared.revision}, [Put(f"k{n}", body())])
            for n in range(124)
        ]
        outcomes = await together(stack, *relying)
        assert len({out.revision for out in outcomes if isinstance(out, Committed)}) == 1


async def test_two_writers_of_one_key_go_one_after_the_other(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        first, second, other = await together(stack, create("a"), create("a"), create("b"))
        assert isinstance(first, Committed)
        assert isinstance(other, Committed)
        assert first.revision == other.revision
        assert isinstance(second, Conflict)
        assert second.current["a"].record == first.records["a"]


async def test_who_guards_what_another_writes_waits_for_the_next_group(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        relies = Transaction({"a": 0, "b": 0}, [Put("b", body())])
        first, second = await together(stack, create("a"), relies)
        assert isinstance(first, Committed)
        assert isinstance(second, Conflict)


async def test_different_views_of_one_key_do_not_go_together(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        seen = (await stack.commits.commit(create("a"))).revision
        fresh = Transaction({"a": seen, "b": 0}, [Put("b", body())])
        stale = Transaction({"a": seen - 1, "c": 0}, [Put("c", body())])
        first, second = await together(stack, fresh, stale)
        assert isinstance(first, Committed)
        assert isinstance(second, Conflict)
        assert stack.commits.statistics().failed_compares == 1


async def test_nobody_overtakes_a_transaction_that_shares_a_key(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        outcomes = await together(
            stack, create("a"), create("a", "b"), Transaction({"b": 0, "c": 0}, [Put("c", body())])
        )
        assert [type(out) for out in outcomes] == [Committed, Conflict, Committed]
        assert stack.commits.statistics().transactions == 3


async def test_positions_of_a_merged_group_are_what_the_watch_delivers(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        old = await stack.commits.commit(create(*[f"old{n}" for n in range(10)]))
        transactions = [
            Transaction(
                {f"old{n}": old.revision, f"new{n}": 0}, [Delete(f"old{n}"), Put(f"new{n}", body())]
            )
            for n in range(10)
        ]
        outcomes = await together(stack, *transactions)
        told: dict[str, int] = {}
        for out in outcomes:
            assert isinstance(out, Committed)
            told |= {k: r.resource_version for k, r in out.records.items()} | dict(out.deleted)
        async for revision, events in stack.store.events(old.revision):
            seen = {event.key: revision * 1000 + event.position for event in events}
            fence = seen.popitem()
            assert fence[0].startswith(f"{INTERNAL}fences/")
            assert seen == told
            assert fence[1] == max(told.values()) + 1
            assert list(seen.values()) == sorted(seen.values())
            break


async def test_a_group_is_cut_where_its_bytes_would_be_too_many(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        outcomes = await together(stack, *[create(f"k{n}", value="v" * 300_000) for n in range(10)])
        assert all(isinstance(out, Committed) for out in outcomes)
        assert stack.commits.statistics().failed_compares == 0
        assert stack.commits.statistics().transactions == 3


async def test_a_transaction_as_large_as_etcd_takes_is_committed(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        committed = await stack.commits.commit(create("k", value="v" * 1_570_000))
        _, found = await stack.store.read(["k"])
        assert found["k"].record == committed.records["k"]


@pytest.mark.parametrize("size", [1_600_000, 3_000_000])
async def test_a_transaction_larger_than_etcd_takes_is_too_large(
    etcd_process: EtcdProcess, prefix: str, size: int
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        with pytest.raises(TooLarge):
            await stack.commits.commit(create("k", value="v" * size))
        assert (await stack.commits.commit(create("k"))).records


async def test_more_guards_than_fit_are_too_large(etcd_process: EtcdProcess, prefix: str) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        most = stack.commits.max_operations
        assert most == 125
        await stack.commits.commit(create(*[f"k{n}" for n in range(most)]))
        with pytest.raises(TooLarge):
            await stack.commits.commit(create(*[f"l{n}" for n in range(most + 1)]))


async def test_an_etcd_with_lower_limits_than_configured_makes_groups_smaller(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    limits = Limits(operations=1000, request_bytes=8 << 20)
    async with etcd_stack(etcd_process.endpoint, prefix=prefix, limits=limits) as stack:
        outcomes = await together(stack, *[create(f"k{n}") for n in range(400)])
        assert all(isinstance(out, Committed) for out in outcomes)
        outcomes = await together(stack, *[create(f"l{n}", value="v" * 100_000) for n in range(40)])
        assert all(isinstance(out, Committed) for out in outcomes)


async def test_a_cancelled_caller_takes_its_transaction_back(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        async with asyncio.TaskGroup() as tasks:
            given_up = tasks.create_task(stack.commits.commit(create("a")))
            kept = tasks.create_task(stack.commits.commit(create("b")))
            await asyncio.sleep(0)
            given_up.cancel()
        await kept
        _, found = await stack.store.read(["a", "b"])
        assert (found["a"].record, found["b"].record is None) == (None, False)


async def test_a_full_queue_refuses_and_writes_nothing(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix, max_waiting=3) as stack:
        *taken, refused = await together(stack, *[create(f"k{n}") for n in range(4)])
        assert all(isinstance(out, Committed) for out in taken)
        assert isinstance(refused, Unavailable)
        assert "too many writes waiting" in str(refused)


async def test_a_write_without_its_guard_is_a_mistake_of_the_caller(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        for wrong in (
            Transaction({"b": 0}, [Put("a", body())]),
            Transaction({"a": 0}, [Put("a", body()), Put("a", body())]),
            Transaction({"a": 0}, [Delete("a")]),
            Transaction({}, []),
        ):
            with pytest.raises(ValueError, match=r"guard|twice"):
                await stack.commits.commit(wrong)


async def test_who_waits_when_group_commit_stops_is_told(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        commits = stack.commits
        await commits.commit(create("before"))
    with pytest.raises(Unavailable):
        await commits.commit(create("a"))
