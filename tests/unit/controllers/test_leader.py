"""Who leads, and when it stops."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from apis.meta.errors import StatusError
from apis.meta.transaction import Unavailable
from quotaapi.controllers.leader import KEY, TTL_SECONDS, Leader


class Lessor:
    """etcd's leases, by a clock that the test or a leader's sleep moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.revision = 1
        self.key: tuple[str, int] | None = None
        self.leases: dict[str, float] = {}
        self.down = False

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    def _tick(self) -> None:
        if self.down:
            raise Unavailable("etcd is away")
        self.leases = {lease: end for lease, end in self.leases.items() if end > self.now}
        if self.key is not None and self.key[0] not in self.leases:
            self.key = None
            self.revision += 1

    async def grant(self, ttl_seconds: int) -> str:
        self._tick()
        lease = f"lease-{self.revision}-{len(self.leases)}-{self.now}"
        self.leases[lease] = self.now + ttl_seconds
        return lease

    async def keep_alive(self, lease: str) -> float:
        self._tick()
        if lease not in self.leases:
            return 0.0
        self.leases[lease] = self.now + TTL_SECONDS
        return TTL_SECONDS

    async def revoke(self, lease: str) -> None:
        self.leases.pop(lease, None)
        self._tick()

    async def holder(self, key: str) -> int:
        self._tick()
        return self.key[1] if self.key is not None else 0

    async def take(self, key: str, lease: str, body: bytes) -> int:
        self._tick()
        if self.key is not None:
            return 0
        self.revision += 1
        self.key = (lease, self.revision)
        return self.revision

    async def confirm(self, seen: Mapping[str, int]) -> bool:
        self._tick()
        return self.key is not None and seen == {KEY: self.key[1]}


class Running:
    def __init__(self, leader: Leader) -> None:
        self.leader = leader
        self.working = 0
        self.fault = ""

    async def duty(self) -> None:
        self.working += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.working -= 1


@asynccontextmanager
async def running(lessor: Lessor, name: str = "one") -> AsyncIterator[Running]:
    leader = Leader(
        lessor,
        lessor.confirm,
        name=name,
        clock=lessor.clock,
        jitter=lambda: 0.5,
        sleep=lessor.sleep,
        unfit=lambda: found.fault,
    )
    found = Running(leader)
    task = asyncio.ensure_future(leader.run([found.duty]))
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 -- a counter, no event
            await asyncio.sleep(0)


async def test_a_replica_that_cannot_read_what_is_stored_leaves_leading_to_others() -> None:
    lessor = Lessor()
    async with running(lessor) as one, running(lessor, "two") as two:
        await until(lambda: one.working == 1)

        one.fault = "something is stored in format 2"
        await until(lambda: two.working == 1)
        assert one.working == 0

        one.fault, two.fault = "", "something is stored in format 2"
        await until(lambda: one.working == 1)
        assert two.working == 0


async def test_the_first_comer_leads_and_does_its_duties() -> None:
    lessor = Lessor()
    async with running(lessor) as one:
        await until(lambda: one.working == 1)

        assert one.leader.leads
        assert lessor.key is not None
        assert one.leader.mandate().mod_revision == lessor.key[1]


async def test_a_second_replica_waits_as_long_as_the_first_renews() -> None:
    lessor = Lessor()
    async with running(lessor, "one") as one:
        await until(lambda: one.working == 1)
        async with running(lessor, "two") as two:
            await until(lambda: lessor.now > 20 * TTL_SECONDS)

            assert (one.working, two.working, two.leader.terms) == (1, 0, 0)
            assert one.leader.terms == 1
            with pytest.raises(StatusError):
                two.leader.mandate()


async def test_a_leader_that_stops_hands_over_without_waiting_for_its_lease() -> None:
    lessor = Lessor()
    async with running(lessor) as one:
        await until(lambda: one.working == 1)

    assert (one.working, lessor.key, lessor.leases) == (0, None, {})
    assert not one.leader.leads


async def test_a_leader_that_was_paused_beyond_its_lease_leads_no_more_and_stands_again() -> None:
    lessor = Lessor()
    async with running(lessor) as one:
        await until(lambda: one.working == 1)
        before = one.leader.mandate()

        lessor.now += TTL_SECONDS + 1

        assert not one.leader.leads
        with pytest.raises(StatusError):
            one.leader.mandate()
        await until(lambda: one.leader.terms == 2 and one.working == 1)
        assert one.leader.mandate() != before


async def test_a_leader_that_cannot_reach_etcd_stops_when_its_time_is_up() -> None:
    lessor = Lessor()
    async with running(lessor) as one:
        await until(lambda: one.working == 1)
        lessor.down = True

        await until(lambda: one.working == 0)

        assert not one.leader.leads
        lessor.down = False
        await until(lambda: one.working == 1)


async def test_a_duty_that_fails_begins_anew_and_ends_nothing_else() -> None:
    lessor = Lessor()
    leader = Leader(
        lessor,
        lessor.confirm,
        name="one",
        clock=lessor.clock,
        jitter=lambda: 0.5,
        sleep=lessor.sleep,
    )
    attempts = 0

    async def duty() -> None:
        nonlocal attempts
        attempts += 1
        raise ZeroDivisionError

    task = asyncio.ensure_future(leader.run([duty]))
    try:
        await until(lambda: attempts == 3)
        assert leader.leads
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_leader_whose_key_is_another_ones_steps_down() -> None:
    lessor = Lessor()
    async with running(lessor) as one:
        await until(lambda: one.working == 1)
        lessor.leases["other"] = 1e9
        lessor.key = ("other", 99)

        await until(lambda: one.working == 0)

        assert lessor.key == ("other", 99)
