"""Two projects share an operator's account within a trial's limits."""

from collections.abc import AsyncIterator
from datetime import datetime

import pytest_asyncio

from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.harness.api import Api, Object
from tests.harness.etcd import assert_exact

TRIAL = "garden-trial"
ONE, TWO = "garden-one", "garden-two"


def shoot(name: str, namespace: str, machines: int = 1) -> Object:
    """2 cpu and 8Gi per machine."""
    workers = [a_worker(maximum=machines)]
    return a_shoot(name=name, namespace=namespace, binding="trial", workers=workers)


@pytest_asyncio.fixture
async def trial(api: Api) -> AsyncIterator[Api]:
    """A project may have 20 cpus, both together 30."""
    await api.have(
        a_profile(),
        a_quota(name="account", scope="secret", metrics={"cpus": "30", "memory": "400Gi"}, days=14),
        a_quota(name="project", scope="project", metrics={"cpu": "20"}, days=7),
        *(
            a_binding(name="trial", namespace=namespace, quotas=("account", "project"))
            for namespace in (ONE, TWO)
        ),
    )
    yield api


async def fill(api: Api, namespace: str, count: int, *, machines: int = 1) -> None:
    for number in range(count):
        answer = await api.create(shoot(f"{machines}-{number}", namespace, machines))
        assert answer.status == 201, answer


async def test_a_project_is_refused_at_its_own_limit_and_told_the_numbers(trial: Api) -> None:
    await fill(trial, ONE, 9)

    refused = await trial.create(shoot("too-much", ONE, machines=2))

    assert refused.status == 403
    assert refused.body["reason"] == "Forbidden"
    assert (
        "exceeded quota: project, requested: cpu=4, used: cpu=18, limited: cpu=20"
        in refused.message
    )
    assert (await trial.get("Shoot", ONE, "too-much")).status == 404
    assert await trial.used(TRIAL, "account") == {"cpus": "18", "memory": "72Gi"}


async def test_a_limit_can_be_reached_exactly(trial: Api) -> None:
    await fill(trial, ONE, 9)

    assert (await trial.create(shoot("the-last", ONE))).status == 201
    assert await trial.namespace_used(ONE, "project") == {"cpu": "20"}


async def test_the_other_project_goes_on_until_the_account_is_full(trial: Api) -> None:
    await fill(trial, ONE, 10)
    assert (await trial.create(shoot("eleventh", ONE))).status == 403
    await fill(trial, TWO, 5)

    refused = await trial.create(shoot("sixth", TWO))

    assert refused.status == 403
    assert (
        "exceeded quota: account, requested: cpus=2, used: cpus=30, limited: cpus=30"
        in refused.message
    )
    assert await trial.used(TRIAL, "account") == {"cpus": "30", "memory": "120Gi"}
    assert await trial.namespace_used(ONE, "account") == {"cpus": "20", "memory": "80Gi"}
    assert await trial.namespace_used(TWO, "account") == {"cpus": "10", "memory": "40Gi"}


async def test_every_quota_that_refuses_is_named(trial: Api) -> None:
    await fill(trial, ONE, 10)
    await fill(trial, TWO, 5)

    refused = await trial.create(shoot("one-more", ONE))

    assert "exceeded quota: account" in refused.message
    assert "exceeded quota: project" in refused.message


async def test_a_deletion_returns_the_charge_at_once(trial: Api) -> None:
    await fill(trial, ONE, 10)

    assert (await trial.delete("Shoot", ONE, "1-0")).status == 200

    assert await trial.used(TRIAL, "account") == {"cpus": "18", "memory": "72Gi"}
    assert await trial.namespace_used(ONE, "project") == {"cpu": "18"}
    assert (await trial.create(shoot("in-its-place", ONE))).status == 201


async def test_the_last_deletion_removes_the_namespaces_usage(trial: Api) -> None:
    await fill(trial, ONE, 1)

    assert (await trial.delete("Shoot", ONE, "1-0")).status == 200

    assert await trial.items("QuotaUsage", ONE) == []
    assert await trial.used(TRIAL, "account") == {"cpus": "0", "memory": "0"}


async def scale(api: Api, namespace: str, name: str, machines: int, *, dry: bool = False) -> int:
    current = (await api.get("Shoot", namespace, name)).body
    current["spec"]["cloud"]["aws"]["workers"][0]["autoScalerMax"] = machines
    return (await api.update(current, dry_run=dry)).status


async def test_scaling_up_is_charged_by_the_difference(trial: Api) -> None:
    await fill(trial, ONE, 1, machines=3)

    assert await scale(trial, ONE, "3-0", 5) == 200

    assert await trial.used(TRIAL, "account") == {"cpus": "10", "memory": "40Gi"}
    assert await scale(trial, ONE, "3-0", 10) == 200
    assert await scale(trial, ONE, "3-0", 11) == 403
    assert await trial.namespace_used(ONE, "project") == {"cpu": "20"}


async def test_scaling_down_passes_although_the_limit_is_overstepped(trial: Api) -> None:
    await fill(trial, ONE, 1, machines=8)
    lowered = {"spec": {"metrics": {"cpus": "4"}}}
    assert (await trial.patch("Quota", TRIAL, "account", lowered)).status == 200

    assert await scale(trial, ONE, "8-0", 7) == 200
    assert await scale(trial, ONE, "8-0", 8) == 403

    assert await trial.used(TRIAL, "account") == {"cpus": "14", "memory": "56Gi"}


async def test_a_dry_run_is_judged_and_not_charged(trial: Api) -> None:
    fits = await trial.create(shoot("fits", ONE, machines=10), dry_run=True)
    exceeds = await trial.create(shoot("exceeds", ONE, machines=11), dry_run=True)

    assert (fits.status, exceeds.status) == (201, 403)
    assert await trial.items("Shoot", ONE) == []
    assert await trial.used(TRIAL, "account") == {"cpus": "0", "memory": "0"}


async def test_a_dry_run_of_a_growth_is_judged_and_not_charged(trial: Api) -> None:
    await fill(trial, ONE, 1, machines=8)

    assert await scale(trial, ONE, "8-0", 10, dry=True) == 200
    assert await scale(trial, ONE, "8-0", 11, dry=True) == 403

    assert await trial.namespace_used(ONE, "project") == {"cpu": "16"}


async def test_a_name_that_exists_is_a_conflict_although_the_quota_is_full(trial: Api) -> None:
    await fill(trial, ONE, 10)

    again = await trial.create(shoot("1-0", ONE))

    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")


async def test_the_shortest_lifetime_of_the_quotas_ends_a_shoot(trial: Api) -> None:
    await fill(trial, ONE, 1)

    metadata = (await trial.get("Shoot", ONE, "1-0")).body["metadata"]

    created, expires = (
        metadata["creationTimestamp"],
        metadata["annotations"]["shoot.garden.sapcloud.io/expirationTimestamp"],
    )
    assert days_between(created, expires) == 7


def days_between(earlier: str, later: str) -> float:
    difference = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return difference.total_seconds() / 86400


async def test_the_accounts_were_exact_at_every_revision_of_the_story(
    trial: Api, etcd_url: str
) -> None:
    await fill(trial, ONE, 10)
    await fill(trial, TWO, 5)
    await scale(trial, ONE, "1-0", 2)
    await trial.delete("Shoot", TWO, "1-0")
    await trial.patch("CrossSecretBinding", ONE, "trial", {"quotas": None})
    await trial.delete("Shoot", ONE, "1-1")

    statistics = assert_exact(etcd_url)

    assert statistics["quotas"] == 2
