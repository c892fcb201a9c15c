"""Several replicas on the same quotas, and very many objects."""

import asyncio
from collections.abc import Sequence

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.faults.load import attempt
from tests.faults.rig import Bounds, metrics, one_etcd, rig
from tests.harness.api import Answer, Api, Object


async def two_replicas(bounds: Bounds) -> None:
    await _replicas(bounds, 2)


async def three_replicas(bounds: Bounds) -> None:
    await _replicas(bounds, 3)


async def _replicas(bounds: Bounds, count: int) -> None:
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=count, room=40) as running:
        async with running.load() as load:
            await load.some_answers(300 * bounds.rounds, seconds=120 * bounds.rounds)
        counts = load.promises.counts
        assert not any(what.endswith((" 503", "no answer")) for what in counts), counts


async def recounts_go_on(bounds: Bounds) -> None:
    """A recount of everything each 200 ms, on lists that are old when it ends: it mends nothing,
    since nothing is wrong."""
    arguments = ("--resync-interval", "200ms")
    async with (
        one_etcd() as etcd,
        rig(etcd.endpoint, bounds, replicas=2, room=40, arguments=arguments) as running,
    ):
        async with running.load() as load:
            await load.some_answers(300 * bounds.rounds, seconds=120 * bounds.rounds)
        found = [await metrics(session) for session in running.sessions]
        assert sum(each["quotaapi_resync_rounds_total"] for each in found) > 3
        assert sum(each["quotaapi_ledger_drift_total"] for each in found) == 0


async def many_come_and_go(bounds: Bounds) -> None:
    """Projects, quotas and shoots are made, and removed again: nothing of them is left in etcd.

    10 quotas; each project has a binding to two of them, and shoots.
    """
    projects, shoots = 5 * bounds.rounds, 10 * bounds.rounds
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=2) as running:
        first = running.apis[0]
        quotas = [
            a_quota(name=f"q-{n}", scope=scope, metrics={"shoots": "100000", "cpu": "100k"})
            for n, scope in enumerate(["secret", "project"] * 5)
        ]
        bindings = [
            a_binding(
                name="many",
                namespace=f"project-{n}",
                quotas=[f"q-{2 * (n % 5)}", f"q-{2 * (n % 5) + 1}"],
            )
            for n in range(projects)
        ]
        await first.have(a_profile(name="other"), *quotas, *bindings)
        made = [
            a_shoot(name=f"many-{n}", namespace=f"project-{p}", binding="many", profile="other")
            for p in range(projects)
            for n in range(shoots)
        ]
        await _all(running.apis, "create", made, 201)
        assert len(await first.items("Shoot")) == len(made)
        for number in range(0, 10, 2):
            mine = sum(n % 5 == number // 2 for n in range(projects)) * shoots
            used = await running.apis[-1].used("garden-trial", f"q-{number}")
            assert used == {"shoots": str(mine), "cpu": str(2 * mine)} or mine >= 1000
        await _all(running.apis, "delete_object", made, 200)
        assert await first.items("QuotaUsage") == []
        for obj in [*bindings, *quotas]:
            assert (await first.delete_object(obj)).status == 200
        left = await asyncio.to_thread(running.audit)
        # The world that every rig has: its quotas, and the bindings' counts.
        assert (left["shoots"], left["quotas"]) == (0, 2)


async def _all(apis: Sequence[Api], verb: str, objects: Sequence[Object], status: int) -> None:
    waiting = iter(list(objects))

    async def client(api: Api) -> None:
        for obj in waiting:
            outcome = await attempt(getattr(api, verb)(obj))
            assert isinstance(outcome, Answer), outcome
            assert outcome.status == status, outcome

    async with asyncio.TaskGroup() as group:
        for number in range(24):
            group.create_task(client(apis[number % len(apis)]))
