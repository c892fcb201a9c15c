"""Writes under a mandate: what a leader that was deposed without knowing it can still do."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from admission.interface import Intent, Mandate
from apis.garden.v1beta1.register import BY_KIND
from apis.meta.errors import StatusError
from apis.meta.keys import object_key
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Committed, Object, Put, Transaction
from quotaapi.controllers.leader import KEY
from tests import builders
from tests.fakes.leading import QUOTA, Leading, leading
from tests.fakes.memory_backend import MemoryBackend
from tests.unit.quota.replica import Replica, replica

SHOOT = object_key("shoots", "garden-dev", "shoot")


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


async def write(one: Replica, obj: Object | None, mandate: Mandate) -> Committed | None:
    """Store or remove a shoot, as a controller does."""
    transactor = one.stack.transactor
    async with transactor.claim_object(SHOOT):
        old = (await transactor.newest([SHOOT]))[SHOOT].record
        assert old is not None
        attributes = Attributes(
            operation=Operation.UPDATE if obj is not None else Operation.DELETE,
            resource=BY_KIND["Shoot"],
            namespace="garden-dev",
            name="shoot",
            user=UserInfo("controller"),
            obj=obj,
            old=old.object(),
        )
        return await one.evaluator.admit(Intent(attributes, SHOOT, old, obj, mandate))


def labelled() -> Object:
    shoot = builders.a_shoot()
    shoot["metadata"]["labels"] = {"a": "b"}
    return shoot


@pytest.fixture
async def world() -> AsyncIterator[Leading]:
    async with leading() as found:
        await found.one.put(builders.a_shoot())
        yield found


async def test_a_leader_writes_what_touches_ledgers_and_what_does_not(world: Leading) -> None:
    assert await write(world.one, labelled(), world.granted)
    assert await write(world.one, None, world.granted)
    assert await world.charge(QUOTA) == {}


@pytest.mark.parametrize("obj", [labelled(), None], ids=["unmetered", "metered"])
async def test_a_deposed_leader_that_knows_it_is_refused(
    world: Leading, obj: Object | None
) -> None:
    await world.depose()
    before = world.backend.revision

    with pytest.raises(StatusError) as refused:
        await write(world.one, obj, world.granted)

    assert (refused.value.code, world.backend.revision) == (503, before)


@pytest.mark.parametrize("obj", [labelled(), None], ids=["unmetered", "metered"])
async def test_a_deposed_leader_that_has_not_heard_of_it_is_stopped_by_etcd(
    world: Leading, obj: Object | None
) -> None:
    backend = world.backend
    async with replica(Deaf(backend)) as deaf:  # type: ignore[arg-type]
        revision = world.granted.mod_revision
        assert await deaf.stack.transactor.confirm({KEY: revision})
        backend.write(Transaction({KEY: revision}, [Put(KEY, b"{}")]))
        before = backend.revision

        with pytest.raises(StatusError) as refused:
            await write(deaf, obj, world.granted)

        assert (refused.value.code, backend.revision) == (503, before)


async def test_clients_in_one_batch_with_a_deposed_leader_are_admitted(world: Leading) -> None:
    backend = world.backend
    async with replica(Deaf(backend)) as deaf:  # type: ignore[arg-type]
        revision = world.granted.mod_revision
        assert await deaf.stack.transactor.confirm({KEY: revision})
        backend.write(Transaction({KEY: revision}, [Put(KEY, b"{}")]))

        outcomes = await asyncio.gather(
            write(deaf, None, world.granted),
            *(deaf.admits(builders.a_shoot(name=f"shoot-{n}")) for n in range(10)),
            return_exceptions=True,
        )

    assert isinstance(outcomes[0], StatusError)
    assert outcomes[1:] == [True] * 10
    assert (await world.charge(QUOTA))["cpu"] == "22"
