"""Waiters, batches, conflicts and time-outs, over a backend in memory."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from admission.interface import Intent, Mandate
from admission.quota.books import Books
from admission.quota.ledger import Needs
from apis.garden.v1beta1.register import SHOOT
from apis.meta.errors import StatusError
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import (
    Committed,
    Conflict,
    Delete,
    Object,
    OutcomeUnknown,
    Snapshot,
    Transaction,
    Unavailable,
)
from tests import builders
from tests.fakes.memory_backend import MemoryBackend
from tests.unit.quota.replica import Replica, replica

QUOTA = "garden.sapcloud.io/quotas/garden-trial/quota"


async def prepare(one: Replica, *, cpus: str = "20", quota: str = "quota") -> None:
    await one.put(builders.a_profile())
    await one.put(builders.a_quota(name=quota, metrics={"cpu": cpus}))
    await one.put(builders.a_binding(quotas=[quota]))


@pytest.fixture
async def one() -> AsyncIterator[Replica]:
    async with replica(MemoryBackend()) as running:
        await prepare(running)
        yield running


def a_shoot(number: int, **fields: object) -> Object:
    return builders.a_shoot(name=f"shoot-{number}", **fields)  # type: ignore[arg-type]


async def burst(replicas: list[Replica], count: int) -> int:
    """How many of `count` concurrent creates were admitted."""
    tasks = [replicas[i % len(replicas)].admits(a_shoot(i)) for i in range(count)]
    return sum(await asyncio.gather(*tasks))


async def used(one: Replica) -> str:
    snapshot = (await one.stack.transactor.newest([QUOTA]))[QUOTA]
    assert snapshot.record is not None
    cpu: str = snapshot.record.object()["status"]["used"]["cpu"]
    return cpu


async def test_a_burst_admits_exactly_what_fits_in_few_transactions(one: Replica) -> None:
    backend = one.stack.reflector._backend
    assert isinstance(backend, MemoryBackend)
    before = backend.commits

    admitted = await burst([one], 100)

    assert (admitted, await used(one)) == (10, "20")
    assert backend.commits - before == 1
    assert one.evaluator.statistics().conflicts == 0


async def test_two_replicas_admit_exactly_what_fits() -> None:
    backend = MemoryBackend()
    async with replica(backend) as one, replica(backend) as two:
        await prepare(one)
        await two.stack.reflector.wait_for_revision(backend.revision, 5)

        admitted = await burst([one, two], 60)

        assert admitted == 10


async def test_a_dry_run_is_judged_and_not_stored(one: Replica) -> None:
    assert await one.put(a_shoot(1), dry_run=True) is None

    workers = [builders.a_worker(maximum=11)]
    with pytest.raises(StatusError, match="requested: cpu=22, used: cpu=0, limited: cpu=20"):
        await one.put(a_shoot(1, workers=workers), dry_run=True)
    assert await used(one) == "0"


class Deaf:
    """A backend that tells nothing that happens from now on."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self._until = backend.revision

    def __getattr__(self, name: str) -> object:
        return getattr(self._backend, name)

    async def events(self, after_revision: int) -> AsyncIterator[object]:
        async for revision, events in self._backend.events(after_revision):
            if revision > self._until:
                await asyncio.Event().wait()
            yield revision, events


async def test_a_refusal_is_confirmed_against_what_another_replica_released() -> None:
    backend = MemoryBackend()
    async with replica(backend) as one:
        await prepare(one, cpus="2")
        await one.put(a_shoot(1))
        async with replica(Deaf(backend)) as two:  # type: ignore[arg-type]
            assert await used(two) == "2"
            await one.write(None, "Shoot", "garden-dev", "shoot-1")

            assert await two.admits(a_shoot(2))


async def test_a_deletion_that_another_replica_was_faster_with_is_a_conflict() -> None:
    """The ledger does not count the shoot any more: no fault of the accounts."""
    backend = MemoryBackend()
    async with replica(backend) as one, replica(backend) as two:
        await prepare(one)
        await one.put(a_shoot(1))
        await two.stack.reflector.wait_for_revision(backend.revision, 5)
        shoot = "garden.sapcloud.io/shoots/garden-dev/shoot-1"
        old = (await one.stack.transactor.newest([shoot]))[shoot].record
        assert old is not None
        await two.write(None, "Shoot", "garden-dev", "shoot-1")
        await one.stack.reflector.wait_for_revision(backend.revision, 5)
        deletion = Attributes(
            operation=Operation.DELETE,
            resource=SHOOT,
            namespace="garden-dev",
            name="shoot-1",
            user=UserInfo("alice"),
            obj=None,
            old=old.object(),
            dry_run=False,
        )
        async with one.stack.transactor.claim_object(shoot):
            with pytest.raises(Conflict):
                await one.evaluator.admit(Intent(deletion, shoot, old, None))


async def test_a_shoot_is_deleted_where_its_ledgers_are_known_from_before_it_was_charged() -> None:
    backend = MemoryBackend()
    async with replica(backend) as one:
        await prepare(one)
        async with replica(Deaf(backend)) as two:  # type: ignore[arg-type]
            await one.put(a_shoot(1))
            shoot = "garden.sapcloud.io/shoots/garden-dev/shoot-1"
            assert not await two.stack.transactor.confirm({shoot: 0})

            await two.write(None, "Shoot", "garden-dev", "shoot-1")

            assert await used(two) == "0"


async def test_a_binding_and_its_quota_can_be_written_while_shoots_are_admitted(
    one: Replica,
) -> None:
    other = builders.a_quota(name="other", metrics={"cpu": "200"})
    raised = builders.a_quota(metrics={"cpu": "60"})
    await one.put(other)

    async with asyncio.timeout(10):
        results = await asyncio.gather(
            *(one.admits(a_shoot(i)) for i in range(20)),
            one.put(builders.a_binding(quotas=["other"])),
            one.put(raised),
            *(one.admits(a_shoot(i)) for i in range(20, 40)),
        )

    assert all(results)


async def test_a_shoot_is_admitted_while_its_quota_is_edited_without_pause(one: Replica) -> None:
    admitted = asyncio.Event()

    async def edit(cpus: int) -> None:
        while not admitted.is_set():
            await one.put(builders.a_quota(metrics={"cpu": str(cpus)}))

    editing = [asyncio.ensure_future(edit(20 + number)) for number in range(5)]
    try:
        async with asyncio.timeout(5):
            assert await one.admits(a_shoot(1))
    finally:
        admitted.set()
        await asyncio.gather(*editing)


async def test_who_queues_for_an_object_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("admission.quota.evaluator.AGED_SECONDS", -1.0)
    async with replica(MemoryBackend()) as one:
        await prepare(one)
        async with one.stack.transactor.claim_object(QUOTA):
            creating = asyncio.ensure_future(one.put(a_shoot(1)))
            table = one.stack.transactor.table  # type: ignore[attr-defined]
            while table.statistics()["waiting"] == 0:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0)
            one.evaluator.close()

            with pytest.raises(Unavailable):
                await asyncio.wait_for(creating, 5)


async def test_writes_without_ledgers_do_not_wait_for_batches(one: Replica) -> None:
    started, gate = asyncio.Event(), asyncio.Event()
    backend = one.stack.reflector._backend
    assert isinstance(backend, MemoryBackend)
    direct = backend.commit

    async def slow(transaction: Transaction) -> Committed:
        if any("shoots" in key for key in transaction.guards):
            started.set()
            await gate.wait()
        return await direct(transaction)

    one.stack.transactor._commit = slow  # type: ignore[attr-defined]
    waiting = asyncio.ensure_future(one.admits(a_shoot(1)))

    await started.wait()
    await asyncio.wait_for(one.put(builders.a_profile(name="gcp")), 5)

    assert not waiting.done()
    gate.set()
    assert await waiting


async def test_a_waiter_that_is_in_no_batch_in_time_is_withdrawn() -> None:
    backend = MemoryBackend()
    started, gate = asyncio.Event(), asyncio.Event()

    async def commit(transaction: Transaction) -> Committed:
        if any("shoots" in key for key in transaction.guards):
            started.set()
            await gate.wait()
        return await backend.commit(transaction)

    async with replica(backend, commit, timeout_seconds=0.05) as one:
        await prepare(one)
        first = asyncio.ensure_future(one.put(a_shoot(1)))
        await started.wait()

        with pytest.raises(StatusError, match="no admission decision") as late:
            await one.put(a_shoot(2))

        assert late.value.code == 504
        assert one.evaluator.statistics().waiting == 0
        gate.set()
        await first
        assert await used(one) == "2"


@pytest.mark.parametrize("error", [Unavailable("etcd is away"), OutcomeUnknown("lost")])
async def test_what_became_of_a_commit_is_told_to_everybody_in_the_batch(error: Exception) -> None:
    backend = MemoryBackend()

    async def commit(transaction: Transaction) -> Committed:
        if any("shoots" in key for key in transaction.guards):
            raise error
        return await backend.commit(transaction)

    async with replica(backend, commit) as one:
        await prepare(one)

        results = await asyncio.gather(
            *(one.put(a_shoot(i)) for i in range(5)), return_exceptions=True
        )

    assert results == [error] * 5


async def test_without_a_running_scheduler_nothing_is_admitted(one: Replica) -> None:
    one.evaluator.close()

    with pytest.raises(Unavailable):
        await one.put(a_shoot(1))


class Unplannable:
    """A change that wants other keys than it was queued for, and then cannot tell which."""

    key = "a-ledger"
    size_bytes = 0

    def __init__(self) -> None:
        self._plans = iter(("one", "another"))

    def needs(self, known: Mapping[str, Snapshot]) -> Needs:
        del known
        plan = next(self._plans, None)
        if plan is None:
            raise ValueError("a record of a newer release")
        return Needs(exclusive=frozenset((plan,)))

    def apply(self, books: Books, *, fold: bool) -> None:
        raise AssertionError("it is never planned")


async def test_what_cannot_be_planned_again_fails_alone(one: Replica) -> None:
    with pytest.raises(ValueError, match="newer release"):
        await one.evaluator.carry_out(Unplannable(), seen=None, mandate=Mandate("leader", 0))

    assert await one.admits(a_shoot(1))


async def test_a_corrupt_ledger_fails_its_own_request_alone(one: Replica) -> None:
    await one.put(a_shoot(1))
    backend = one.stack.reflector._backend
    assert isinstance(backend, MemoryBackend)
    other = builders.a_binding(name="other", quotas=["quota"])
    await one.put(other)
    ledger = ".ledger/bindings/crosssecretbindings/garden-dev/binding"
    record = (await one.stack.transactor.newest([ledger]))[ledger].record
    assert record is not None
    await one.stack.transactor.commit(Transaction({ledger: record.mod_revision}, [Delete(ledger)]))

    results = await asyncio.gather(
        one.write(None, "Shoot", "garden-dev", "shoot-1"),
        one.put(a_shoot(2, binding="other")),
        return_exceptions=True,
    )

    assert isinstance(results[0], ValueError)
    assert isinstance(results[1], Committed)
