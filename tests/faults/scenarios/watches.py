"""Informers of many clients see every event once and in order, whatever happens in between."""

import asyncio
import random
from contextlib import aclosing

from apis.meta.keys import parse_object_key, resource_prefix
from quotaapi.audit.sources import open_backend
from storage.interface import RawEvent
from tests.builders import a_shoot
from tests.faults.rig import ROOMY, Bounds, one_etcd, rig
from tests.faults.scenarios.storage import compact
from tests.faults.watching import Change, Informer, caught_up
from tests.harness.api import Api


async def informers_miss_nothing(bounds: Bounds) -> None:
    """Replicas are killed and restarted one after the other, etcd is compacted each time to all
    but the newest; watchers leave, come back and dawdle."""
    rng = random.Random(bounds.seed)
    async with (
        one_etcd(arguments=ROOMY) as etcd,
        rig(etcd.endpoint, bounds, replicas=2, room=100 * bounds.clients) as running,
    ):
        informers = [
            Informer(list(running.sessions), random.Random(rng.random()), slow=number % 8 == 0)
            for number in range(bounds.watchers)
        ]
        history: list[Change] = []
        async with asyncio.TaskGroup() as group:
            following = group.create_task(_follow(etcd.endpoint, history))
            tasks = [group.create_task(informer.run()) for informer in informers]
            async with running.load() as load:
                for _ in range(bounds.rounds):
                    for server in running.servers:
                        await load.some_answers(5 * bounds.clients)
                        await asyncio.to_thread(rng.choice([server.stop, server.kill9]))
                        # No further than the history that they are compared with has been read.
                        await compact(etcd.endpoint, history[-1][0] // 1000)
                        await asyncio.to_thread(server.start)
                await load.some_answers(60)
            newest = await _nudge(running.apis[0])
            for informer in informers:
                informer.slow = False
            await caught_up(informers, newest)
            async with asyncio.timeout(20):
                while history[-1][0] < newest:
                    await asyncio.sleep(0.1)
            for task in (following, *tasks):
                task.cancel()
        problems = [text for each in informers for text in each.compare(history)]
        assert not problems, problems[:20]
        watched = sum(len(s.changes) for each in informers for s in each.stretches)
        lists = sum(len(each.stretches) for each in informers)
        bounds.say(
            f"{len(informers)} informers saw {watched} events of a history of {len(history)}, "
            f"{sum(each.resumed for each in informers)} resumed, {lists} lists"
        )


async def _nudge(api: Api) -> int:
    """An event after everything, so that nobody waits for a bookmark to know that he is done."""
    answer = await api.create(a_shoot(name="nudge", namespace="garden-a"))
    assert answer.status == 201, answer
    return int(answer.body["metadata"]["resourceVersion"])


async def _follow(etcd_url: str, history: list[Change]) -> None:
    """Every change of a shoot, as etcd tells it, until cancelled."""
    prefix = resource_prefix("shoots")
    exists: set[str] = set()
    async with open_backend([etcd_url], prefix="/registry") as backend:  # noqa: SIM117 -- it is what streams
        async with aclosing(backend.events(0)) as stream:  # type: ignore[type-var]  # a generator
            async for _, events in stream:
                mine = [event for event in events if event.key.startswith(prefix)]
                history += [_change(event, exists) for event in mine]


def _change(event: RawEvent, exists: set[str]) -> Change:
    parsed = parse_object_key(event.key)
    assert parsed is not None
    name = f"{parsed[1]}/{parsed[2]}"
    version = event.mod_revision * 1000 + event.position
    if event.record is None:
        exists.discard(name)
        return version, "DELETED", name
    kind = "MODIFIED" if name in exists else "ADDED"
    exists.add(name)
    return version, kind, name
