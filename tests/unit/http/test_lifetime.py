"""The controller that deletes expired shoots."""

import asyncio
from datetime import UTC, datetime

import pytest

from apis.garden.v1beta1.register import SHOOT
from apis.garden.v1beta1.shoot import EXPIRATION
from apis.meta.codec import Decoded
from apis.meta.request import UserInfo
from quotaapi.controllers.lifetime import ROUND_SECONDS, USER, Lifetime
from quotaapi.endpoints.mutations import Mutations
from quotaapi.registry.options import DeleteOptions, WriteOptions
from tests.builders import a_shoot
from tests.fakes.rest import FakeRest

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
PAST, FUTURE = "2026-05-01T11:59:59Z", "2026-05-01T12:00:01Z"


async def shoots(**expirations: str | None) -> FakeRest:
    rest = FakeRest(SHOOT)
    for name, expiration in expirations.items():
        shoot = a_shoot(name=name, namespace="ns")
        if expiration is not None:
            shoot["metadata"]["annotations"] = {EXPIRATION: expiration}
        await rest.create(UserInfo("x"), "ns", Decoded(shoot), WriteOptions())
    rest.users.clear()
    rest.options.clear()
    return rest


async def run_round(rest: FakeRest) -> Lifetime:
    async with asyncio.TaskGroup() as tasks:
        controller = Lifetime(rest, Mutations(tasks, 10).run, lambda: NOW)
        await controller.round()
    return controller


async def test_shoots_whose_time_has_passed_are_deleted_and_no_others() -> None:
    rest = await shoots(old=PAST, young=FUTURE, forever=None, now="2026-05-01T12:00:00Z")

    controller = await run_round(rest)

    assert sorted(name for _, name in rest.records) == ["forever", "young"]
    assert controller.deleted == 2


async def test_a_shoot_is_deleted_as_it_was_judged_and_by_the_controllers_own_user() -> None:
    rest = await shoots(old=PAST)
    version = rest.records["ns", "old"].resource_version

    await run_round(rest)

    assert rest.users == [USER]
    assert rest.options == [DeleteOptions(uid="uid-old", resource_version=str(version))]


async def test_a_shoot_that_is_going_already_is_left_alone() -> None:
    rest = await shoots(old=PAST)
    going = rest.records["ns", "old"].object()
    going["metadata"]["deletionTimestamp"] = PAST
    rest._store("ns", "old", going)

    await run_round(rest)

    assert list(rest.records) == [("ns", "old")]


async def test_an_unreadable_time_deletes_nothing() -> None:
    rest = await shoots(odd="garbage")

    await run_round(rest)

    assert list(rest.records) == [("ns", "odd")]


async def test_a_time_that_something_else_of_the_shoot_names_is_not_its_own() -> None:
    rest = await shoots(plain=None)
    shoot = rest.records["ns", "plain"].object()
    shoot["spec"]["unrelated"] = {EXPIRATION: PAST}
    rest._store("ns", "plain", shoot)

    await run_round(rest)

    assert list(rest.records) == [("ns", "plain")]


async def test_what_expired_while_nobody_led_is_deleted_at_once_and_then_it_is_looked_again() -> (
    None
):
    rest = await shoots(old=PAST)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            assert not rest.records
            late = a_shoot(name="late", namespace="ns")
            late["metadata"]["annotations"] = {EXPIRATION: PAST}
            await rest.create(UserInfo("x"), "ns", Decoded(late), WriteOptions())
            return
        raise asyncio.CancelledError

    async with asyncio.TaskGroup() as tasks:
        controller = Lifetime(rest, Mutations(tasks, 10).run, lambda: NOW, sleep=sleep)
        with pytest.raises(asyncio.CancelledError):
            await controller.run()

    assert controller.deleted == 2
    assert pauses == [ROUND_SECONDS, ROUND_SECONDS]
