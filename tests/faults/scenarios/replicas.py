"""Several replicas on the same quotas, and very many objects."""

import asyncio
from collections.abc import Sequence

from apis.meta.quantity import Quantity
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.faults.footprint import metrics
from tests.faults.load import PAUSE_SECONDS, attempt
from tests.faults.rig import ROOMY, Bounds, one_etcd, rig
from tests.faults.scenarios.storage import keys
from tests.harness.api import Answer, Api, Object


async def two_replicas(bounds: Bounds) -> None:
    await _replicas(bounds, 2)


async def three_replicas(bounds: Bounds) -> None:
    await _replicas(bounds, 3)


async def _replicas(bounds: Bounds, count: int) -> None:
    """There is never room for all: each deletion lets somebody in, and many are refused."""
    room = 4 + 3 * bounds.clients
    async with (
        one_etcd(arguments=ROOMY) as etcd,
        rig(etcd.endpoint, bounds, replicas=count, room=room) as running,
        running.patrolled(),
    ):
        async with running.load() as load:
            await asyncio.sleep(bounds.load_seconds)
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
    async with (
        one_etcd(arguments=ROOMY) as etcd,
        rig(etcd.endpoint, bounds, replicas=2) as running,
        running.patrolled(),
    ):
        first = running.apis[0]
        before = await keys(etcd.endpoint)
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
            for n in range(bounds.projects)
        ]
        others = a_profile(name="other")
        await first.have(others, *quotas, *bindings)
        made = [
            a_shoot(name=f"many-{n}", namespace=f"project-{p}", binding="many", profile="other")
            for n in range(bounds.shoots)
            for p in range(bounds.projects)
        ]
        await _all(running.apis, "create", made, bounds)
        assert len(await first.items("Shoot")) == len(made)
        for number in range(5):
            mine = sum(n % 5 == number for n in range(bounds.projects)) * bounds.shoots
            used = await running.apis[-1].used("garden-trial", f"q-{2 * number}")
            expected = {"shoots": Quantity.parse(str(mine)), "cpu": Quantity.parse(str(2 * mine))}
            assert {name: Quantity.parse(text) for name, text in used.items()} == expected
        await _all(running.apis, "delete_object", made, bounds)
        assert await first.items("QuotaUsage") == []
        for obj in [*bindings, *quotas, others]:
            assert (await first.delete_object(obj)).status == 200
        assert await keys(etcd.endpoint) == before
        left = await asyncio.to_thread(running.audit)
        # The world that every rig has: its quotas, and the bindings' counts.
        assert (left["shoots"], left["quotas"]) == (0, 2)


DONE = {"create": 201, "delete_object": 200}
DONE_BEFORE = {"create": 409, "delete_object": 404}
"""What a repetition is told after a 504 whose write was carried out nevertheless."""


async def _all(apis: Sequence[Api], verb: str, objects: Sequence[Object], bounds: Bounds) -> None:
    waiting = iter(list(objects))
    repeated = 0

    async def client(api: Api) -> None:
        nonlocal repeated
        for obj in waiting:
            lawful = {DONE[verb]}
            while True:
                outcome = await attempt(getattr(api, verb)(obj))
                assert isinstance(outcome, Answer), outcome
                if outcome.status != 504:
                    break
                lawful.add(DONE_BEFORE[verb])
                repeated += 1
                await asyncio.sleep(PAUSE_SECONDS)
            assert outcome.status in lawful, outcome

    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(2 * bounds.clients):
            group.create_task(client(apis[number % len(apis)]))
    seconds = loop.time() - began
    bounds.say(f"{verb} of {len(objects)} in {seconds:.1f} s, {repeated} answers of 504")
