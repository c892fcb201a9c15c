"""Recounts: what they find, mend, leave alone."""

from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest

from apis.meta.errors import StatusError
from apis.meta.transaction import Delete, Header, Put, encode_body
from quotaapi.controllers.resync import Resync
from tests import builders
from tests.fakes.leading import (
    LEDGER,
    QUOTA,
    REFERENCES,
    USAGE,
    Leading,
    directly,
    leading,
)

T = TypeVar("T")


@pytest.fixture
async def world() -> AsyncIterator[Leading]:
    """Two shoots of 2 cpu each."""
    async with leading() as found:
        for number in range(2):
            await found.one.put(builders.a_shoot(name=f"shoot-{number}"))
        yield found


def a_resync(world: Leading) -> Resync:
    return Resync(world.backend, world.one.evaluator, mandate=world.mandate, carry_out=directly)


async def test_exact_accounts_are_left_alone(world: Leading) -> None:
    resync, before = a_resync(world), world.backend.revision

    assert await resync.round()

    assert (resync.drift, resync.repaired, world.backend.revision) == (0, 0, before)


WRONG = {"cpu": "7", "shoots": "1"}


@pytest.mark.parametrize(
    ("key", "header"),
    [
        (LEDGER, Header(charge=WRONG, count=2)),
        (LEDGER, Header(charge=WRONG, count=9)),
        (QUOTA, Header(charge=WRONG)),
        (QUOTA, Header()),
        (USAGE, Header(charge=WRONG)),
        (REFERENCES, Header(count=3)),
    ],
)
async def test_a_spoilt_ledger_is_mended_and_counted(
    world: Leading, key: str, header: Header
) -> None:
    await world.spoil(key, header)
    assert await world.violations()
    resync = a_resync(world)

    assert await resync.round()

    assert await world.violations() == []
    assert (resync.drift, resync.repaired) == (1, 1)


@pytest.mark.parametrize("key", [LEDGER, USAGE, REFERENCES])
async def test_a_lost_ledger_is_written_again(world: Leading, key: str) -> None:
    await world.overwrite(Delete(key))
    resync = a_resync(world)

    assert await resync.round()

    assert await world.violations() == []
    assert resync.drift == 1


async def test_what_is_shown_wrong_is_mended_though_the_sum_is_right(world: Leading) -> None:
    _, seen = await world.backend.read([QUOTA])
    record = seen[QUOTA].record
    assert record is not None
    quota = record.object()
    quota["status"]["used"] = {"cpu": "3"}
    await world.overwrite(Put(QUOTA, encode_body(quota), record.header))
    resync = a_resync(world)

    assert await resync.round()

    assert await world.violations() == []
    assert resync.drift == 1


async def test_ledgers_of_what_does_not_exist_are_removed(world: Leading) -> None:
    strange = USAGE.replace("garden-dev", "elsewhere")
    _, seen = await world.backend.read([USAGE])
    record = seen[USAGE].record
    assert record is not None
    await world.overwrite(Put(strange, record.body, record.header))
    await world.overwrite(Put(".ledger/quotas/no/such", b"{}", Header(count=1)))
    await world.overwrite(Put(".ledger/bindings/secretbindings/no/such", b"{}", Header(count=1)))
    resync = a_resync(world)

    assert await resync.round()

    assert await world.violations() == []
    assert resync.drift == 3


async def test_everything_at_once_is_mended_in_one_round(world: Leading) -> None:
    for key in (LEDGER, QUOTA, USAGE):
        await world.spoil(key, Header(charge=WRONG, count=1 if key == LEDGER else None))
    await world.overwrite(Delete(REFERENCES))
    await world.overwrite(Delete("garden.sapcloud.io/shoots/garden-dev/shoot-1"))
    resync = a_resync(world)

    assert await resync.round()

    assert await world.violations() == []
    assert (await world.charge(QUOTA))["cpu"] == "2"
    assert (resync.drift, resync.repaired) == (4, 4)


async def test_limits_that_are_shown_late_are_refreshed_and_are_no_drift(world: Leading) -> None:
    quota = builders.a_quota(metrics={"machines": "20"})
    _, seen = await world.backend.read([USAGE])
    record = seen[USAGE].record
    assert record is not None
    await world.one.put(quota)
    await world.overwrite(Put(USAGE, record.body, record.header))
    resync = a_resync(world)

    assert await resync.round()

    _, seen = await world.backend.read([USAGE])
    record = seen[USAGE].record
    assert record is not None
    assert record.object()["status"]["used"] == {"machines": "2"}
    assert (resync.drift, resync.repaired) == (0, 0)


async def test_a_recount_from_an_old_list_never_overwrites_newer_charges(world: Leading) -> None:
    await world.spoil(QUOTA, Header(charge=WRONG))
    interruptions = iter(range(3))

    async def late(write: Coroutine[Any, Any, T]) -> T:
        number = next(interruptions, None)
        if number is not None:
            await world.one.put(builders.a_shoot(name=f"newer-{number}"))
        return await write

    resync = Resync(world.backend, world.one.evaluator, mandate=world.mandate, carry_out=late)

    assert await resync.round()

    assert await world.violations() == []
    assert (await world.charge(QUOTA))["cpu"] == "10"
    assert (resync.drift, resync.repaired) == (1, 1)


async def test_a_deposed_leader_mends_nothing(world: Leading) -> None:
    await world.spoil(QUOTA, Header(charge=WRONG))
    await world.depose()
    resync, before = a_resync(world), world.backend.revision

    with pytest.raises(StatusError) as refused:
        await resync.round()

    assert refused.value.code == 503
    assert (resync.repaired, world.backend.revision) == (0, before)


async def test_what_cannot_be_mended_does_not_keep_the_rest_from_it(world: Leading) -> None:
    dangling = builders.a_binding(name="dangling", quotas=["missing"])
    key = "garden.sapcloud.io/crosssecretbindings/garden-dev/dangling"
    await world.overwrite(Put(key, encode_body(dangling)))
    shoot = builders.a_shoot(name="dangler", binding="dangling")
    await world.overwrite(
        Put(
            "garden.sapcloud.io/shoots/garden-dev/dangler",
            encode_body(shoot),
            Header(charge={"shoots": "1"}),
        )
    )
    await world.spoil(QUOTA, Header(charge=WRONG))
    resync = a_resync(world)

    assert not await resync.round()

    assert (await world.charge(QUOTA))["cpu"] == "4"
