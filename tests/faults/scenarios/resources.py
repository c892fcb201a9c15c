"""Nothing grows: memory, tasks and file descriptors after very many writes are what they were after some."""

import asyncio
import itertools
import random
from collections.abc import Iterator

from tests.builders import a_binding, a_quota
from tests.faults.footprint import Footprint, footprint, metrics
from tests.faults.hose import Hose
from tests.faults.load import TOTAL
from tests.faults.rig import ROOMY, Bounds, Rig, one_etcd, rig
from tests.faults.scenarios.connections import freed, idle
from tests.faults.watching import Informer, pass_by
from tests.harness.api import Api

ROUNDS = 5
"""Of each part of the load."""
PARTS = 4
"""So many at most until one leaves what the one before it left. The first fills what is bounded: windows,
caches, free places in the heap; a short one does not quite."""
GROWTH = 1.10
"""Short parts measure 0.4 to 8 % from the second on where nothing leaks, and 27 to 42 % where the
record of every write is kept."""
SPARE_DESCRIPTORS = 8
"""Kept connections of the test's own clients and to etcd come and go."""
CONNECTIONS = 100
"""Whose handshakes are work enough that it trims its heap."""
HOSES = 24
INFORMERS = 2
"""They check every event; the other watchers only take it."""


async def nothing_grows(bounds: Bounds) -> None:
    """Watchers come and go, shoots too."""
    # Nothing may be compacted that the next patrol is to audit.
    compaction = f"{max(5, 6 * bounds.patrol_seconds):g}s"
    arguments = (
        *("--watch-cache-size", str(bounds.window)),
        *("--etcd-compaction-interval", compaction),
    )
    async with (
        one_etcd(arguments=ROOMY) as etcd,
        rig(etcd.endpoint, bounds, arguments=arguments) as running,
        running.patrolled(),
    ):
        hoses = [Hose(running.servers[0], f"hose-{number}") for number in range(HOSES)]
        await running.apis[0].have(
            a_quota(name="hoses", metrics={"shoots": "1M"}),
            *(a_binding(namespace=hose.namespace, quotas=["hoses"]) for hose in hoses),
        )
        serial = itertools.count()
        each = bounds.writes // (2 * ROUNDS)
        found = [await _part(running, hoses, serial, each) for _ in range(2)]
        while not _is_level(*found[-2:]):
            assert len(found) < PARTS, found
            found.append(await _part(running, hoses, serial, each))


def _is_level(before: Footprint, after: Footprint) -> bool:
    return (
        after.rss_kib < before.rss_kib * GROWTH
        and after.descriptors <= before.descriptors + SPARE_DESCRIPTORS
        and after.tasks <= before.tasks + SPARE_DESCRIPTORS
    )


async def _part(running: Rig, hoses: list[Hose], serial: Iterator[int], each: int) -> Footprint:
    """What the server has left when all objects are deleted, all clients are gone, and it has trimmed
    its heap, which it does after some work: between two trims RSS goes up and
    down by 15 MiB."""
    for _ in range(ROUNDS):
        await _round(running, hoses, serial, each)
    before = await _settled(running)
    async with idle(running.servers[0], CONNECTIONS):
        pass
    await freed(running, before)
    found = await _settled(running)
    running.bounds.say(f"given back: {found.text()}")
    return found


async def _round(running: Rig, hoses: list[Hose], serial: Iterator[int], writes: int) -> None:
    """Ends when all objects are deleted and all clients are gone."""
    bounds = running.bounds
    rng = random.Random(bounds.seed + next(serial))
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with running.servers[0].client(connections=bounds.watchers + HOSES) as session:
        informers = [Informer([session], random.Random(rng.random())) for _ in range(INFORMERS)]
        passing = [
            pass_by(session, random.Random(rng.random()))
            for _ in range(bounds.watchers - INFORMERS)
        ]
        async with asyncio.TaskGroup() as watching, running.load():
            watchers = [watching.create_task(informer.run()) for informer in informers]
            watchers += [watching.create_task(one) for one in passing]
            shares = [hose.run(Api(session), serial, writes // HOSES) for hose in hoses]
            written = sum(await asyncio.gather(*shares))
            for watcher in watchers:
                watcher.cancel()
        violations = [text for informer in informers for text in informer.violations]
        assert not violations, violations[:20]
    found = await _settled(running)
    seconds = loop.time() - began
    bounds.say(f"{written} writes besides, {written / seconds:.0f}/s: {found.text()}")


async def _settled(running: Rig) -> Footprint:
    """When the clients' watches have ended."""
    session = running.sessions[0]
    async with asyncio.timeout(20):
        while (await metrics(session))["quotaapi_watches_open"]:
            await asyncio.sleep(0.1)  # another process: there is nothing to wait on
    assert await running.apis[0].used("garden-trial", TOTAL) == {"shoots": "0", "cpu": "0"}
    return await footprint(session, running.servers[0].pid)
