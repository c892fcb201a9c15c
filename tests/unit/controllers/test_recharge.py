"""New prices for what exists."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from apis.meta.errors import StatusError
from quotaapi.controllers.recharge import Recharge
from quotaapi.resources.stores import extracts
from tests import builders
from tests.fakes.leading import QUOTA, Leading, directly, leading
from tests.unit.quota import replica as replicas

SHOOT = "garden.sapcloud.io/shoots/garden-dev/shoot"
DEARER = {**builders.MACHINES, "small": {"cpu": "3", "gpu": "1", "memory": "8Gi"}}


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Leading]:
    monkeypatch.setattr(replicas, "EXTRACTS", extracts())
    async with leading() as found:
        yield found


def a_recharge(world: Leading) -> Recharge:
    one = world.one
    return Recharge(
        one.stack.reader,
        one.stack.transactor,
        one.evaluator,
        mandate=world.mandate,
        carry_out=directly,
    )


async def settled(world: Leading) -> None:
    await world.one.stack.reflector.wait_for_revision(world.backend.revision, 5)


async def reprice(world: Leading, machines: object = DEARER) -> None:
    await world.one.put(builders.a_profile(machines=machines))  # type: ignore[arg-type]
    await settled(world)


async def test_shoots_are_charged_by_the_new_prices_and_every_revision_is_exact(
    world: Leading,
) -> None:
    first = world.backend.revision
    for number in range(150):
        await world.one.put(builders.a_shoot(name=f"shoot-{number}"))
    await reprice(world)
    recharge, before = a_recharge(world), world.backend.commits

    await recharge.sweep({"aws"})

    assert recharge.recharged == 150
    assert (await world.charge(QUOTA))["cpu"] == "450"
    assert (await world.charge(QUOTA))["gpu"] == "150"
    assert await world.violations(first=first) == []
    assert world.backend.commits - before <= 5


async def test_equal_prices_write_nothing(world: Leading) -> None:
    await world.one.put(builders.a_shoot())
    await reprice(world, {**builders.MACHINES, "new": {"cpu": "1", "memory": "1Gi"}})
    recharge, before = a_recharge(world), world.backend.revision

    await recharge.sweep(None)

    assert (recharge.recharged, world.backend.revision) == (0, before)


async def test_shoots_of_other_profiles_are_left_alone(world: Leading) -> None:
    await world.one.put(builders.a_profile(name="other"))
    await world.one.put(builders.a_shoot(profile="other"))
    await reprice(world)
    recharge = a_recharge(world)

    await recharge.sweep({"aws"})

    assert recharge.recharged == 0


async def test_the_price_is_the_operators_whatever_the_quota_allows(world: Leading) -> None:
    await world.one.put(builders.a_shoot())
    await world.one.put(builders.a_quota(metrics={"cpu": "2"}))
    await reprice(world)

    await a_recharge(world).sweep(None)

    assert (await world.charge(QUOTA))["cpu"] == "3"
    assert await world.violations() == []


async def test_a_type_that_is_gone_keeps_its_price_and_the_others_get_theirs(
    world: Leading,
) -> None:
    workers = [builders.a_worker(name="a"), builders.a_worker(name="b", machine="large")]
    await world.one.put(builders.a_shoot(workers=workers))
    await reprice(world, {"large": {"cpu": "5", "gpu": "0", "memory": "16Gi"}})

    await a_recharge(world).sweep(None)

    assert (await world.charge(SHOOT))["cpu"] == "7"
    assert (await world.charge(QUOTA))["cpu"] == "7"


async def test_a_shoot_keeps_its_charge_when_its_profile_is_deleted(world: Leading) -> None:
    await world.one.put(builders.a_shoot())
    await world.one.write(None, "CloudProfile", "", "aws")
    await settled(world)

    await a_recharge(world).sweep(None)

    assert (await world.charge(SHOOT))["cpu"] == "2"


async def test_a_terminating_shoot_is_charged_by_the_new_prices(world: Leading) -> None:
    await world.one.put(builders.a_shoot())
    shoot = builders.a_shoot()
    shoot["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"]}
    await world.one.put(shoot)
    await reprice(world)

    await a_recharge(world).sweep(None)

    assert (await world.charge(QUOTA))["cpu"] == "3"


async def test_an_update_before_the_repricing_and_the_repricing_are_told_apart(
    world: Leading,
) -> None:
    """The limit is overstepped by the prices alone, and the audit knows whose doing it is."""
    first = world.backend.revision
    await world.one.put(builders.a_shoot(workers=[builders.a_worker(maximum=5)]))
    costly = {**builders.MACHINES, "small": {"cpu": "1M", "gpu": "0", "memory": "8Gi"}}
    await reprice(world, costly)
    await world.one.put(builders.a_shoot(workers=[builders.a_worker(maximum=4)]))
    assert (await world.charge(QUOTA))["cpu"] == "8"

    await a_recharge(world).sweep({"aws"})

    assert (await world.charge(QUOTA))["cpu"] == "4M"
    assert await world.violations(first=first, growth=True) == []


async def test_creates_scalings_and_deletions_go_on_meanwhile(world: Leading) -> None:
    one, first = world.one, world.backend.revision
    for number in range(80):
        await one.put(builders.a_shoot(name=f"shoot-{number}"))
    await reprice(world)
    big = [builders.a_worker(maximum=2)]

    await asyncio.gather(
        a_recharge(world).sweep(None),
        *(one.write(None, "Shoot", "garden-dev", f"shoot-{n}") for n in range(20)),
        *(one.put(builders.a_shoot(name=f"shoot-{n}", workers=big)) for n in range(20, 40)),
        *(one.put(builders.a_shoot(name=f"new-{n}")) for n in range(40)),
    )

    assert await world.violations(first=first) == []
    assert (await world.charge(QUOTA))["cpu"] == str(3 * (20 * 2 + 40 + 40))
    assert one.evaluator.statistics().conflicts == 0


async def test_a_deposed_leader_charges_nothing_anew_and_holds_up_nobody(world: Leading) -> None:
    await world.one.put(builders.a_shoot())
    await reprice(world)
    await world.depose()

    outcomes = await asyncio.gather(
        a_recharge(world).sweep(None),
        *(world.one.admits(builders.a_shoot(name=f"new-{n}")) for n in range(10)),
        return_exceptions=True,
    )

    assert isinstance(outcomes[0], StatusError)
    assert outcomes[0].code == 503
    assert outcomes[1:] == [True] * 10
    assert (await world.charge(SHOOT))["cpu"] == "2"


async def test_a_changed_profile_is_heard_of(world: Leading) -> None:
    await world.one.put(builders.a_shoot())
    await settled(world)
    recharge = a_recharge(world)
    running = asyncio.ensure_future(recharge.run())
    try:
        await reprice(world)

        async with asyncio.timeout(5):
            while not recharge.recharged:  # noqa: ASYNC110 -- a counter, no event
                await asyncio.sleep(0.001)
    finally:
        running.cancel()
        await asyncio.wait([running])

    assert (await world.charge(QUOTA))["cpu"] == "3"
