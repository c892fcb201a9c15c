"""What went wrong in other systems that count against quotas, each report a test.

A test has a namespace of its own, so that none sees another's accounts.
"""

import asyncio
import itertools
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import pytest

from apis.meta.errors import StatusError
from apis.meta.transaction import Committed, Conflict, Header, Transaction, Unavailable
from quotaapi.controllers.resync import Resync
from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker, an_object
from tests.fakes.leading import QUOTA, leading
from tests.fakes.memory_backend import MemoryBackend
from tests.harness.api import Api, Object
from tests.unit.quota.replica import Replica, replica

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]

T = TypeVar("T")

QUOTAS = ("total", "each")

_numbers = itertools.count()


class Account:
    """Two quotas and a binding to them, in a namespace that nobody else uses."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.namespace = f"report-{next(_numbers)}"

    async def open(
        self, total: Mapping[str, str], each: Mapping[str, str] | None = None
    ) -> "Account":
        quotas = [a_quota(name="total", namespace=self.namespace, metrics=total)]
        if each is not None:
            quotas.append(
                a_quota(name="each", namespace=self.namespace, scope="project", metrics=each)
            )
        names = [quota["metadata"]["name"] for quota in quotas]
        binding = a_binding(namespace=self.namespace, quotas=names, quota_namespace=self.namespace)
        await self.api.have(*quotas, binding)
        return self

    def shoot(self, name: str = "shoot", *, maximum: int = 1, minimum: int = 1) -> Object:
        workers = [a_worker(maximum=maximum, minimum=minimum)]
        return a_shoot(name=name, namespace=self.namespace, workers=workers)

    async def used(self) -> dict[str, str]:
        return await self.api.used(self.namespace, "total")

    async def used_here(self, quota: str = "each") -> dict[str, str] | None:
        return await self.api.namespace_used(self.namespace, quota)

    async def limit(self, metrics: Mapping[str, str]) -> None:
        answer = await self.api.patch(
            "Quota", self.namespace, "total", {"spec": {"metrics": dict(metrics)}}
        )
        assert answer.status == 200, answer


@pytest.fixture
async def account(api: Api) -> Account:
    return Account(api)


async def test_an_object_that_one_of_two_quotas_refuses_is_charged_to_neither(
    account: Account,
) -> None:
    await account.open({"cpu": "20"}, {"cpu": "2"})
    await account.api.have(account.shoot())

    refused = await account.api.create(account.shoot("second"))

    assert refused.status == 403
    assert "exceeded quota: each" in refused.message
    assert await account.used() == {"cpu": "2"}
    assert await account.used_here() == {"cpu": "2"}
    assert await account.used_here("total") == {"cpu": "2"}


async def test_a_create_whose_name_exists_charges_nothing(account: Account) -> None:
    await account.open({"cpu": "20"})
    await account.api.have(account.shoot())

    answers = await asyncio.gather(*(account.api.create(account.shoot()) for _ in range(20)))

    assert {(answer.status, answer.body["reason"]) for answer in answers} == {
        (409, "AlreadyExists")
    }
    assert await account.used() == {"cpu": "2"}


async def test_a_full_quota_says_that_a_name_exists_not_that_it_is_full(account: Account) -> None:
    await account.open({"cpu": "2"})
    await account.api.have(account.shoot())

    again = await account.api.create(account.shoot())
    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")
    assert (await account.api.create(account.shoot("other"))).status == 403


async def test_an_update_that_is_invalid_lowers_nothing(account: Account) -> None:
    await account.open({"cpu": "20"})
    await account.api.have(account.shoot(maximum=5))
    smaller = account.shoot(maximum=1, minimum=3)

    answer = await account.api.update(smaller)

    assert answer.status == 422, answer
    assert await account.used() == {"cpu": "10"}


@pytest.mark.parametrize(
    ("kind", "name", "patch"),
    [
        ("Shoot", "shoot", {"spec": {"cloud": {"secretBindingRef": {"name": "other"}}}}),
        ("Shoot", "shoot", {"spec": {"cloud": {"profile": "other"}}}),
        ("Quota", "total", {"spec": {"scope": "project"}}),
    ],
)
async def test_nothing_moves_away_from_what_it_is_charged_to(
    account: Account, kind: str, name: str, patch: Object
) -> None:
    await account.open({"cpu": "20"})
    await account.api.have(account.shoot())

    answer = await account.api.patch(kind, account.namespace, name, patch)

    assert answer.status == 422, answer
    assert await account.used() == {"cpu": "2"}


async def test_an_object_whose_binding_names_other_quotas_is_charged_to_those(
    account: Account,
) -> None:
    await account.open({"cpu": "20"})
    await account.api.have(account.shoot())
    other = a_quota(name="other", namespace=account.namespace, metrics={"cpu": "20"})
    await account.api.have(other)

    answer = await account.api.patch(
        "CrossSecretBinding",
        account.namespace,
        "binding",
        {"quotas": [{"namespace": account.namespace, "name": "other"}]},
    )

    assert answer.status == 200, answer
    assert await account.used() == {"cpu": "0"}
    assert await account.api.used(account.namespace, "other") == {"cpu": "2"}


async def test_what_is_over_its_quota_and_its_limits_can_be_labelled_reported_on_and_let_go(
    account: Account,
) -> None:
    await account.open({"cpu": "20"})
    shoot = account.shoot(maximum=5)
    shoot["metadata"]["finalizers"] = ["example.org/teardown"]
    await account.api.have(shoot)
    await account.limit({"cpu": "0"})
    await account.api.have(
        an_object(
            "ShootLimitRange",
            name="tight",
            namespace=account.namespace,
            spec={"limits": [{"type": "Worker", "max": {"cpu": "1"}}]},
        )
    )
    api, where = account.api, ("Shoot", account.namespace, "shoot")

    labelled = await api.patch(*where, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.status == 200, labelled
    reported = await api.request(
        "PATCH",
        f"namespaces/{account.namespace}/shoots/shoot/status",
        {"status": {"technicalID": "x"}},
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert reported.status == 200, reported
    shrunk = await api.patch(
        *where, {"spec": {"cloud": {"aws": {"workers": [a_worker(maximum=4)]}}}}
    )
    assert shrunk.status in {200, 403}, shrunk
    assert (await api.delete(*where)).status == 200
    assert (await api.get(*where)).body["metadata"]["deletionTimestamp"]
    released = await api.patch(*where, {"metadata": {"finalizers": []}})
    assert released.status == 200, released
    assert (await api.get(*where)).status == 404
    assert await account.used() == {"cpu": "0"}


@pytest.mark.parametrize(
    "quantity", ["-1", "-1m", -1, "-0.5Gi", "1e-30", "NaN", "Infinity", "1e", "--1"]
)
async def test_a_quantity_that_is_negative_or_none_mints_no_quota(
    account: Account, quantity: object
) -> None:
    quota = a_quota(namespace=account.namespace)
    quota["spec"]["metrics"] = {"cpu": quantity}

    answer = await account.api.create(quota)

    # 1e-30 is one: kube rounds it up to the least that there is.
    assert answer.status == (201 if quantity == "1e-30" else 422), answer


@pytest.mark.parametrize("field", ["autoScalerMax", "autoScalerMin"])
async def test_a_negative_number_of_machines_returns_no_charge(
    account: Account, field: str
) -> None:
    await account.open({"cpu": "4"})
    shoot = account.shoot()
    shoot["spec"]["cloud"]["aws"]["workers"][0][field] = -100

    assert (await account.api.create(shoot)).status == 422
    assert await account.used() == {"cpu": "0"}


async def test_limits_beyond_64_bits_and_fractions_are_kept_and_compared_exactly(
    account: Account,
) -> None:
    await account.open({"memory": str(2**64), "cpu": "1.441"})
    api = account.api

    answer = await api.get("Quota", account.namespace, "total")
    assert answer.body["spec"]["metrics"] == {"memory": str(2**64), "cpu": "1441m"}
    refused = await api.create(account.shoot())
    assert "requested: cpu=2, used: cpu=0, limited: cpu=1441m" in refused.message

    await account.limit({"memory": str(2**64 + 1), "cpu": "2000000001n"})
    answer = await api.get("Quota", account.namespace, "total")
    assert answer.body["spec"]["metrics"] == {"memory": str(2**64 + 1), "cpu": "2000000001n"}
    await api.have(account.shoot())
    assert (await api.create(account.shoot("second"))).status == 403
    await account.limit({"cpu": "3999999999n", "memory": None})  # type: ignore[dict-item]  # removes it
    assert (await api.create(account.shoot("second"))).status == 403
    await account.limit({"cpu": "4"})
    await api.have(account.shoot("second"))


async def test_a_ratio_of_one_and_a_half_is_that(account: Account) -> None:
    await account.open({"cpu": "100"})
    ratio = {"type": "Worker", "maxLimitRequestRatio": {"cpu": "1.5"}}
    await account.api.have(
        an_object(
            "ShootLimitRange",
            name="ratio",
            namespace=account.namespace,
            spec={"limits": [ratio]},
        )
    )

    assert (await account.api.create(account.shoot("fits", minimum=2, maximum=3))).status == 201
    refused = await account.api.create(account.shoot("not", minimum=20, maximum=31))
    assert refused.status == 403
    assert "cpu max limit to request ratio per Worker is 1.5" in refused.message
    assert "1.55" in refused.message


# Inside one replica, where the races can be made to happen.


class Racing:
    """Commits that lose against another replica as often as a test wants."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.before_commit: list[object] = []

    async def __call__(self, transaction: Transaction) -> Committed:
        if self.before_commit:
            await self.before_commit.pop(0)()  # type: ignore[operator]  # a coroutine function
        return await self._backend.commit(transaction)


async def prepare(one: Replica, *quotas: Object) -> None:
    names = [quota["metadata"]["name"] for quota in quotas]
    for obj in (a_profile(), *quotas, a_binding(quotas=names)):
        await one.put(obj)


async def test_a_retry_after_a_conflict_does_not_admit_what_another_quota_has_refused() -> None:
    """One request fits both quotas, another only one of them; their batch loses a race and is
    evaluated again."""
    backend = MemoryBackend()
    racing = Racing(backend)
    async with replica(backend) as other, replica(backend, racing) as one:
        await prepare(
            one,
            a_quota(name="total", metrics={"cpu": "20"}),
            a_quota(name="each", scope="project", metrics={"shoots": "3"}),
        )
        await one.put(a_shoot(name="first"))
        racing.before_commit = [lambda: other.put(a_shoot(name="others"))] * 1

        admitted = await asyncio.gather(*(one.admits(a_shoot(name=f"shoot-{n}")) for n in range(8)))

        assert sum(admitted) == 1
        assert one.evaluator.statistics().conflicts == 1


async def test_a_waiter_whose_time_is_up_is_not_charged_later() -> None:
    backend = MemoryBackend()
    gate, under_way = asyncio.Event(), asyncio.Event()
    racing = Racing(backend)
    async with replica(backend, racing, timeout_seconds=0.2) as one:
        await prepare(one, a_quota(name="total", metrics={"cpu": "20"}))

        # The first batch holds the ledgers until the second request has given up.
        async def held() -> None:
            under_way.set()
            await gate.wait()

        racing.before_commit = [held]
        first = asyncio.ensure_future(one.admits(a_shoot(name="first")))
        await under_way.wait()
        with pytest.raises(StatusError) as late:
            await one.put(a_shoot(name="late"))
        assert (late.value.code, "nothing was stored" in str(late.value)) == (504, True)
        gate.set()
        assert await first

        # Whatever was waiting has had its turn when this one has.
        assert await one.admits(a_shoot(name="next"))
        quota = await one.stack.transactor.newest(["garden.sapcloud.io/quotas/garden-trial/total"])
        [snapshot] = quota.values()
        assert snapshot.record is not None
        assert snapshot.record.object()["status"]["used"] == {"cpu": "4"}


async def test_a_recount_from_an_old_list_does_not_overwrite_newer_charges() -> None:
    """Somebody spoilt an account; while it is being mended, clients are charged to it."""
    async with leading() as world:
        await world.one.put(a_shoot(name="first"))
        await world.spoil(QUOTA, Header(charge={"cpu": "7"}))
        late = iter([a_shoot(name="second")])

        async def carry_out(write: Coroutine[Any, Any, T]) -> T:
            for shoot in late:
                await world.one.put(shoot)
            return await write

        resync = Resync(
            world.backend, world.one.evaluator, mandate=world.mandate, carry_out=carry_out
        )
        assert await resync.round()

        assert (await world.charge(QUOTA))["cpu"] == "4"
        assert await world.violations() == []
        # One wrong account was mended once: what a recount writes needs no second one.
        assert (resync.drift, resync.repaired) == (1, 1)


async def test_a_write_that_fails_charges_neither_quota() -> None:
    backend = MemoryBackend()
    racing = Racing(backend)
    async with replica(backend, racing) as one:
        await prepare(
            one,
            a_quota(name="total", metrics={"cpu": "20"}),
            a_quota(name="each", scope="project", metrics={"cpu": "20"}),
        )
        before = backend.revision

        async def lose() -> None:
            raise Conflict({}, 0)

        racing.before_commit = [lose]
        assert await one.admits(a_shoot(name="first"))

        # The failed one left nothing; the next one wrote all of it at once.
        assert backend.revision == before + 1

        async def refuse() -> None:
            raise Unavailable("etcd does not take it")

        racing.before_commit = [refuse]
        with pytest.raises(Unavailable):
            await one.put(a_shoot(name="second"))
        assert backend.revision == before + 1
        assert await one.admits(a_shoot(name="second"))
        _, stored = await backend.read(
            [f"garden.sapcloud.io/quotausages/garden-dev/garden-trial.{q}" for q in QUOTAS]
        )
        charged = [snapshot.record.header.charge for snapshot in stored.values() if snapshot.record]
        assert [charge["cpu"] for charge in charged if charge] == ["4", "4"]
