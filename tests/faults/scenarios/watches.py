"""Informers of many clients see every event once and in order, whatever happens in between."""

import asyncio
import random
from contextlib import aclosing

from apis.meta.keys import parse_object_key, resource_prefix
from quotaapi.audit.sources import open_backend
from tests.builders import a_shoot
from tests.faults.rig import Bounds, one_etcd, rig
from tests.faults.watching import Change, Informer, caught_up
from tests.harness.api import Api


async def informers_miss_nothing(bounds: Bounds) -> None:
    """Replicas are killed and restarted one after the other, watchers leave, come back and dawdle."""
    count = bounds.clients * 3 + 4
    rng = random.Random(bounds.seed)
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=2) as running:
        informers = [
            Informer(list(running.sessions), random.Random(rng.random()), slow=number % 8 == 0)
            for number in range(count)
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in informers]
            async with running.load() as load:
                for _ in range(bounds.rounds):
                    for server in running.servers:
                        await load.some_answers(60)
                        await asyncio.to_thread(rng.choice([server.stop, server.kill9]))
                        await asyncio.to_thread(server.start)
                await load.some_answers(60)
            await _nudge(running.apis[0])
            history = await _history(etcd.endpoint)
            await caught_up(informers, history[-1][0])
            for task in tasks:
                task.cancel()
        problems = [text for each in informers for text in each.compare(history)]
        assert not problems, problems[:20]
        watched = sum(len(s.changes) for each in informers for s in each.stretches)
        lists = sum(len(each.stretches) for each in informers)
        bounds.say(
            f"{count} informers, {watched} events of a history of {len(history)}, "
            f"{sum(each.resumed for each in informers)} resumed, {lists} lists"
        )


async def _nudge(api: Api) -> None:
    """An event after everything, so that nobody waits for a bookmark to know that he is done."""
    shoot = a_shoot(name="nudge", namespace="garden-a")
    assert (await api.create(shoot)).status == 201
    assert (await api.delete_object(shoot)).status == 200


async def _history(etcd_url: str) -> list[Change]:
    """Every change of a shoot, as etcd has it."""
    prefix = resource_prefix("shoots")
    found: list[Change] = []
    exists: set[str] = set()
    async with open_backend([etcd_url], prefix="/registry") as backend:
        async with aclosing(backend.events(0)) as stream:  # type: ignore[type-var]  # a generator
            newest = await backend.current_revision()
            async for revision, events in stream:
                for event in events:
                    if not event.key.startswith(prefix):
                        continue
                    parsed = parse_object_key(event.key)
                    assert parsed is not None
                    name = f"{parsed[1]}/{parsed[2]}"
                    version = event.mod_revision * 1000 + event.position
                    if event.record is None:
                        found.append((version, "DELETED", name))
                        exists.discard(name)
                    else:
                        found.append((version, "MODIFIED" if name in exists else "ADDED", name))
                        exists.add(name)
                if revision >= newest:
                    break
    return found
