"""Writes whose answer is lost: the outcome that is told is the one that stays."""

import asyncio

import pytest

from apis.meta.transaction import (
    Committed,
    Conflict,
    Delete,
    OutcomeUnknown,
    Put,
    Transaction,
    Unavailable,
)
from tests.contract.stacks import EtcdStack, etcd_stack
from tests.etcd_process import BINARIES, EtcdProcess
from tests.integration.etcd.helpers import body, create, history, until, update, writes
from tests.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.integration

TXN = b"/v3/kv/txn"
PUT = b"/v3/kv/put"
"""What raises the fence."""


async def stored(stack: EtcdStack, key: str) -> object:
    return (await stack.store.read([key]))[1][key].record


async def test_a_write_whose_answer_is_lost_is_reported_as_it_was_applied(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        start = await stack.store.current_revision()
        proxy.lose_answer_to(TXN)
        committed = await stack.commits.commit(create("a", "b"))
        assert proxy.lost.is_set()
        assert await stored(stack, "b") == committed.records["b"]
        assert committed.records["b"].position == 1
        assert await writes(stack.store, start) == [committed.revision]
        assert stack.commits.statistics().failed_compares == 0


async def test_every_member_of_a_group_learns_its_outcome_after_a_lost_answer(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        proxy.lose_answer_to(TXN)
        outcomes = await asyncio.gather(*[stack.commits.commit(create(f"k{n}")) for n in range(9)])
        assert [out.records[f"k{n}"].position for n, out in enumerate(outcomes)] == list(range(9))
        for number, outcome in enumerate(outcomes):
            assert await stored(stack, f"k{number}") == outcome.records[f"k{number}"]


async def test_a_write_that_never_arrived_is_applied_by_the_second_sending(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.2) as stack,
    ):
        await stack.commits.commit(create("warm"))
        proxy.hold_request(TXN)
        committed = await stack.commits.commit(create("a"))
        assert await stored(stack, "a") == committed.records["a"]
        assert b'"succeeded":true' not in await proxy.deliver_held()
        assert await stored(stack, "a") == committed.records["a"]


async def test_a_first_sending_that_comes_late_does_not_bring_back_what_was_deleted_since(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    """What was created and deleted is absent again, as the first sending's guard wants it."""
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.2) as stack,
    ):
        await stack.commits.commit(create("warm"))
        proxy.hold_request(TXN)
        committed = await stack.commits.commit(create("a"))
        await stack.commits.commit(Transaction({"a": committed.revision}, [Delete("a")]))
        assert b'"succeeded":true' not in await proxy.deliver_held()
        assert await stored(stack, "a") is None


async def test_what_has_to_go_again_goes_before_newcomers(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.2) as stack,
    ):
        await stack.commits.commit(create("warm"))
        proxy.hold_request(TXN)
        first = asyncio.ensure_future(stack.commits.commit(create("a", value="first")))
        await proxy.holding.wait()
        second = asyncio.ensure_future(stack.commits.commit(create("a", value="second")))
        committed = await first
        with pytest.raises(Conflict) as caught:
            await second
        assert caught.value.current["a"].record == committed.records["a"]


@pytest.mark.parametrize("arrives", [True, False])
async def test_a_restart_of_etcd_after_a_sending_leaves_no_outcome_unknown(
    etcd_process: EtcdProcess, prefix: str, arrives: bool
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        start = (await stack.commits.commit(create("warm"))).revision
        (proxy.lose_answer_to if arrives else proxy.hold_request)(TXN)
        writing = asyncio.ensure_future(stack.commits.commit(create("a")))
        await (proxy.lost if arrives else proxy.holding).wait()
        await proxy.refuse()
        failures = stack.client.statistics().failures
        await until(lambda: stack.client.statistics().failures >= failures + 3)
        await proxy.listen()
        committed = await writing
        assert await stored(stack, "a") == committed.records["a"]
        assert await writes(stack.store, start) == [committed.revision]


async def test_a_fence_whose_answer_is_lost_is_raised_again(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.2) as stack,
    ):
        start = (await stack.commits.commit(create("warm"))).revision
        proxy.hold_request(TXN)
        proxy.lose_answer_to(PUT)
        committed = await stack.commits.commit(create("a"))
        assert proxy.lost.is_set()
        assert await writes(stack.store, start) == [committed.revision]


async def test_without_a_lost_answer_a_transaction_is_one_request(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        await stack.commits.commit(create("warm"))
        calls = stack.client.statistics().calls
        seen = (await stack.commits.commit(create("a"))).revision
        with pytest.raises(Conflict):
            await stack.commits.commit(create("a"))
        await stack.commits.commit(update("a", seen))
        # The refused one's guards are read, the fence is raised, since the name may be free again
        # when another copy comes, and the events up to it are read, which are not compacted.
        assert stack.client.statistics().calls == calls + 7
        assert stack.commits.statistics().lost_answers == 0


async def test_a_lost_answer_to_deletes_is_reported_as_deleted(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        seen = (await stack.commits.commit(create("a", "b"))).revision
        proxy.lose_answer_to(TXN)
        committed = await stack.commits.commit(
            Transaction({"a": seen, "b": seen}, [Delete("b"), Delete("a")])
        )
        # What follows is the fence that had to be raised.
        (revision, events), *_ = await history(stack.store, seen)
        assert committed.revision == revision
        assert committed.deleted == {"b": revision * 1000, "a": revision * 1000 + 1}
        assert len(events) == 3


async def test_a_delete_that_another_did_is_a_conflict_after_a_lost_answer(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    """Both find the key gone; only one of them deleted it, together with something else."""
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.3) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        seen = (await stack.commits.commit(create("a"))).revision
        proxy.hold_request(TXN)
        deleting = asyncio.ensure_future(
            stack.commits.commit(Transaction({"a": seen}, [Delete("a")]))
        )
        await proxy.holding.wait()
        await other.commits.commit(
            Transaction({"a": seen, "b": 0}, [Delete("a"), Put("b", body())])
        )
        with pytest.raises(Conflict) as caught:
            await deleting
        assert caught.value.current["a"].record is None


async def test_an_update_of_what_another_deleted_is_a_conflict_after_a_lost_answer(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    """A revision that deletes the very key which the update would have put."""
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.3) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        seen = (await stack.commits.commit(create("a"))).revision
        proxy.hold_request(TXN)
        writing = asyncio.ensure_future(stack.commits.commit(update("a", seen)))
        await proxy.holding.wait()
        await other.commits.commit(Transaction({"a": seen}, [Delete("a")]))
        with pytest.raises(Conflict):
            await writing


async def test_an_applied_write_that_another_replica_changed_since_is_still_found(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        await stack.commits.commit(create("warm"))
        proxy.lose_answer_to(TXN)
        writing = asyncio.ensure_future(stack.commits.commit(create("a")))
        await proxy.lost.wait()
        proxy.stall()
        mine = (await other.store.read(["a"]))[1]["a"]
        assert mine.record is not None
        theirs = await other.commits.commit(update("a", mine.mod_revision))
        proxy.flow()
        committed = await writing
        assert committed.records["a"] == mine.record
        assert theirs.revision > committed.revision


async def test_an_applied_write_that_another_replica_deleted_since_is_still_found(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        seen = (await stack.commits.commit(create("a"))).revision
        proxy.lose_answer_to(TXN)
        writing = asyncio.ensure_future(stack.commits.commit(update("a", seen)))
        await proxy.lost.wait()
        proxy.stall()
        mine = (await other.store.read(["a"]))[1]["a"]
        await other.commits.commit(Transaction({"a": mine.mod_revision}, [Delete("a")]))
        proxy.flow()
        assert (await writing).records["a"] == mine.record


async def test_a_late_sending_cannot_be_applied_after_a_conflict_was_told(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    """The name was taken when the second sending came, and is free when the first one arrives."""
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.3) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        await stack.commits.commit(create("warm"))
        proxy.hold_request(TXN)
        writing = asyncio.ensure_future(stack.commits.commit(create("a", value="late")))
        await proxy.holding.wait()
        theirs = await other.commits.commit(create("a", value="theirs"))
        with pytest.raises(Conflict):
            await writing
        await other.commits.commit(Transaction({"a": theirs.revision}, [Delete("a")]))
        answer = await proxy.deliver_held()
        assert b" 200 OK" in answer
        assert b'"succeeded":true' not in answer
        assert await stored(stack, "a") is None


async def test_writes_go_on_after_an_outcome_had_to_be_found_out(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix, attempt_seconds=0.3) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        await stack.commits.commit(create("warm"))
        proxy.hold_request(TXN)
        writing = asyncio.gather(
            stack.commits.commit(create("a")),
            stack.commits.commit(create("b")),
            return_exceptions=True,
        )
        await proxy.holding.wait()
        await other.commits.commit(create("a"))
        first, second = await writing
        assert isinstance(first, Conflict)
        assert isinstance(second, Committed)
        assert isinstance(await stack.commits.commit(create("c")), Committed)


async def test_an_etcd_that_stays_away_after_a_sending_leaves_the_outcome_unknown(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(
            proxy.endpoint, prefix=prefix, attempt_seconds=0.1, deadline_seconds=0.4
        ) as stack,
    ):
        await stack.commits.commit(create("warm"))
        proxy.stall()
        sent = asyncio.ensure_future(stack.commits.commit(create("a")))
        await until(lambda: stack.commits.statistics().lost_answers > 0)
        behind = asyncio.ensure_future(stack.commits.commit(create("b")))
        with pytest.raises(OutcomeUnknown):
            await sent
        proxy.flow()
        # Never sent while etcd was away: refused, or applied now that it is back.
        [outcome] = await asyncio.gather(behind, return_exceptions=True)
        assert isinstance(outcome, Committed | Unavailable)
        assert (await stored(stack, "b") is None) == isinstance(outcome, Unavailable)


async def test_who_waits_behind_a_stuck_write_for_too_long_was_never_sent(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    now = [100.0]
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(
            proxy.endpoint,
            prefix=prefix,
            attempt_seconds=0.1,
            deadline_seconds=10,
            clock=lambda: now[0],
        ) as stack,
    ):
        await stack.commits.commit(create("warm"))
        proxy.stall()
        sent = asyncio.ensure_future(stack.commits.commit(create("a")))
        await until(lambda: stack.commits.statistics().lost_answers > 0)
        now[0] += 5
        behind = asyncio.ensure_future(stack.commits.commit(create("b")))
        await asyncio.sleep(0)
        now[0] += 10.5
        with pytest.raises(Unavailable):
            await behind
        with pytest.raises(OutcomeUnknown):
            await sent
        proxy.flow()
        assert await stored(stack, "b") is None


async def test_an_etcd_that_refuses_connections_is_unavailable_at_once(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        tcp_proxy(etcd_process.port) as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        await proxy.refuse()
        with pytest.raises(Unavailable):
            await stack.commits.commit(create("a"))
        await proxy.listen()
        assert (await stack.commits.commit(create("a"))).records


async def test_an_etcd_killed_in_the_middle_of_a_burst_leaves_every_outcome_true(
    own_etcd: EtcdProcess,
) -> None:
    async with etcd_stack(own_etcd.endpoint, attempt_seconds=1.0) as stack:
        names = (f"k{n}" for n in range(1_000_000))
        outcomes: dict[str, Committed | BaseException] = {}
        finishing = asyncio.Event()
        lost_by_etcd: set[int] = set()

        async def client() -> None:
            while not finishing.is_set():
                key = next(names)
                [outcomes[key]] = await asyncio.gather(
                    stack.commits.commit(create(key)), return_exceptions=True
                )
                if isinstance(outcomes[key], Unavailable):
                    await asyncio.sleep(0.01)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(20):
                tasks.create_task(client())
            for _ in range(3):
                enough = stack.commits.statistics().committed + 200
                await until(lambda enough=enough: stack.commits.statistics().committed >= enough)  # type: ignore[misc]
                own_etcd.kill()
                if own_etcd.answers_before_it_is_durable:
                    # The last answer may be in the socket, not yet seen.
                    newest = stack.store.seen_revision
                    lost_by_etcd |= {newest, newest + 1}
                own_etcd.launch()
                await asyncio.to_thread(own_etcd.wait_until_healthy)
            finishing.set()

        exist = {record.key: record for record in (await stack.store.range("k")).records}
        told = {k: out.records[k] for k, out in outcomes.items() if isinstance(out, Committed)}
        refused = {k for k, out in outcomes.items() if isinstance(out, Unavailable)}
        unknown = outcomes.keys() - told.keys() - refused
        durable = {
            k: record for k, record in told.items() if record.mod_revision not in lost_by_etcd
        }
        assert durable.items() <= exist.items()
        assert not refused & exist.keys()
        assert {type(outcomes[key]) for key in unknown} <= {OutcomeUnknown}
        assert len(told) >= 600


async def test_a_paused_etcd_delays_a_write_and_applies_it_once(own_etcd: EtcdProcess) -> None:
    async with etcd_stack(own_etcd.endpoint, attempt_seconds=0.2) as stack:
        start = (await stack.commits.commit(create("warm"))).revision
        own_etcd.pause()
        writing = asyncio.ensure_future(stack.commits.commit(create("a")))
        await until(lambda: stack.commits.statistics().lost_answers > 0)
        own_etcd.resume()
        committed = await writing
        assert await writes(stack.store, start) == [committed.revision]


@pytest.mark.parametrize("binary", BINARIES.values(), ids=BINARIES)
async def test_a_full_database_refuses_the_write_and_says_so(
    tmp_path_factory: pytest.TempPathFactory, binary: str
) -> None:
    etcd = EtcdProcess(
        tmp_path_factory.mktemp("full"),
        binary=binary,
        arguments=(f"--quota-backend-bytes={4 << 20}",),
    )
    try:
        etcd.start()
        async with etcd_stack(etcd.endpoint) as stack:
            stored: dict[str, Committed] = {}
            why = ""
            for number in range(40):
                key = f"k{number:02}"
                try:
                    stored[key] = await stack.commits.commit(create(key, value="v" * 500_000))
                except Unavailable as error:
                    why = str(error)
                    break
            assert "database space exceeded" in why
            stored_keys = [record.key for record in (await stack.store.range("k")).records]
            assert stored_keys == sorted(stored)
            last = stored[stored_keys[-1]].revision
            removal = Transaction({stored_keys[-1]: last}, [Delete(stored_keys[-1])])
            told = await asyncio.gather(stack.commits.commit(removal), return_exceptions=True)
            # An etcd whose file has outgrown the quota refuses every Txn, one that frees space too.
            assert isinstance(told[0], Committed) or "database space exceeded" in str(told[0])
    finally:
        etcd.stop()
