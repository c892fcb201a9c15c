"""Writes that a middlebox sends twice: told as they were applied, and applied once."""

import asyncio
from typing import Literal

import pytest

from apis.meta.transaction import Committed, Conflict, Delete, Put, Transaction
from storage.etcd.leases import Leases
from tests.contract.stacks import etcd_stack
from tests.doubling_proxy import DoublingProxy
from tests.etcd_process import EtcdProcess
from tests.integration.etcd.helpers import body, create, update, writes

pytestmark = pytest.mark.integration

BOTH = pytest.mark.parametrize("answers", ["first", "second"])
Answers = Literal["first", "second"]


@BOTH
async def test_a_write_is_told_as_it_was_applied(
    etcd_process: EtcdProcess, prefix: str, answers: Answers
) -> None:
    async with (
        DoublingProxy(etcd_process.port, answers=answers).run() as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        start = await stack.store.current_revision()
        created = await stack.commits.commit(create("a", "b"))
        updated = await stack.commits.commit(update("a", created.revision))
        mixed = await stack.commits.commit(
            Transaction({"b": created.revision, "c": 0}, [Delete("b"), Put("c", body())])
        )
        removed = await stack.commits.commit(Transaction({"a": updated.revision}, [Delete("a")]))
        told = [outcome.revision for outcome in (created, updated, mixed, removed)]
        assert await writes(stack.store, start) == told
        assert removed.deleted == {"a": removed.revision * 1000}
        assert mixed.records["c"] == (await stack.store.read(["c"]))[1]["c"].record
        assert stack.commits.statistics().conflicts == 0


@BOTH
async def test_every_member_of_a_merged_write_learns_its_outcome(
    etcd_process: EtcdProcess, prefix: str, answers: Answers
) -> None:
    async with (
        DoublingProxy(etcd_process.port, answers=answers).run() as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        taken = await other.commits.commit(create("k3", "k4"))
        outcomes = await asyncio.gather(
            *[stack.commits.commit(create(f"k{n}")) for n in range(9)], return_exceptions=True
        )
        found = (await stack.store.read([f"k{n}" for n in range(9)]))[1]
        for number, outcome in enumerate(outcomes):
            key = f"k{number}"
            if number in (3, 4):
                assert isinstance(outcome, Conflict)
                assert found[key].mod_revision == taken.revision
            else:
                assert isinstance(outcome, Committed)
                assert outcome.records[key] == found[key].record


@pytest.mark.parametrize("change", ["overwritten", "deleted", "deleted and made again"])
@pytest.mark.parametrize("write", ["create", "update", "delete"])
async def test_a_write_that_another_replica_changed_between_the_copies_is_still_found(
    etcd_process: EtcdProcess, prefix: str, write: str, change: str
) -> None:
    async with (
        DoublingProxy(etcd_process.port).run() as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        start = 0
        if write != "create":
            start = (await other.commits.commit(create("a"))).revision
        transaction = {
            "create": create("a"),
            "update": update("a", start),
            "delete": Transaction({"a": start}, [Delete("a")]),
        }[write]
        before = await other.store.current_revision()
        proxy.before_second.clear()
        writing = asyncio.ensure_future(stack.commits.commit(transaction))
        await proxy.holding.wait()
        applied = (await other.store.read(["a"]))[1]["a"]
        if write == "delete":
            assert applied.record is None
        if change == "overwritten":
            later = Transaction({"a": applied.mod_revision}, [Put("a", body("theirs"))])
            await other.commits.commit(later)
        elif write != "delete":
            gone = Transaction({"a": applied.mod_revision}, [Delete("a")])
            await other.commits.commit(gone)
        if change == "deleted and made again":
            await other.commits.commit(create("a", value="theirs"))
        proxy.before_second.set()
        committed = await writing
        assert committed.revision == (await writes(stack.store, before))[0]
        if write != "delete":
            assert committed.records["a"] == applied.record


async def test_a_copy_that_comes_late_is_never_applied(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    """Every key is as it was before, so that the copies' guards of the keys hold again."""
    async with (
        DoublingProxy(etcd_process.port, answers="first").run() as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        created = await stack.commits.commit(create("a"))
        await stack.commits.commit(Transaction({"a": created.revision}, [Delete("a")]))
        several = await asyncio.gather(*[stack.commits.commit(create(f"k{n}")) for n in range(5)])
        for number, outcome in enumerate(several):
            key = f"k{number}"
            removal = Transaction({key: outcome.revision}, [Delete(key)])
            await (other if number % 2 else stack).commits.commit(removal)
        assert not [write for write in proxy.writes if await proxy.deliver_late(write)]
        _, found = await stack.store.read(["a", *(f"k{n}" for n in range(5))])
        assert not [key for key, snapshot in found.items() if snapshot.record]


async def test_a_copy_that_comes_after_a_conflict_was_told_is_never_applied(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with (
        DoublingProxy(etcd_process.port).run() as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
        etcd_stack(etcd_process.endpoint, prefix=prefix) as other,
    ):
        theirs = await other.commits.commit(create("a"))
        with pytest.raises(Conflict):
            await stack.commits.commit(create("a", "b"))
        await other.commits.commit(Transaction({"a": theirs.revision}, [Delete("a")]))
        assert not await proxy.deliver_late(proxy.writes[0])
        assert (await stack.store.read(["b"]))[1]["b"].record is None


async def test_who_took_the_leaders_key_is_told_so(etcd_process: EtcdProcess, prefix: str) -> None:
    async with (
        DoublingProxy(etcd_process.port).run() as proxy,
        etcd_stack(proxy.endpoint, prefix=prefix) as stack,
    ):
        leases = Leases(stack.store)
        mine, theirs = await leases.grant(60), await leases.grant(60)
        revision = await leases.take("leader", mine, b"{}")
        assert revision == await leases.holder("leader") > 0
        assert await leases.take("leader", theirs, b"{}") == 0
