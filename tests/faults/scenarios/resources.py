"""Nothing grows: memory, tasks and file descriptors after many rounds are what they were after the first."""

import asyncio
import os
import random
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.faults.rig import Bounds, Rig, metrics, one_etcd, rig
from tests.faults.watching import Informer

GROWTH = 1.10
SPARE_DESCRIPTORS = 8
"""Kept connections of the test's own clients and to etcd come and go."""


@dataclass(frozen=True, slots=True)
class Footprint:
    rss_kib: int
    descriptors: int
    tasks: int
    watches: int


async def nothing_grows(bounds: Bounds) -> None:
    """Watchers come and go, shoots too. The first rounds fill what is bounded: windows, caches."""
    arguments = ("--watch-cache-size", "200", "--etcd-compaction-interval", "5s")
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, arguments=arguments) as running:
        for _ in range(3):
            await _round(running, bounds)
        first = await _footprint(running)
        for _ in range(2 * bounds.rounds):
            await _round(running, bounds)
        last = await _footprint(running)
        bounds.say(f"{first} -> {last}")
        assert last.rss_kib < first.rss_kib * GROWTH, (first, last)
        assert last.descriptors <= first.descriptors + SPARE_DESCRIPTORS, (first, last)
        assert last.tasks <= first.tasks + SPARE_DESCRIPTORS, (first, last)
        assert last.watches == 0


async def _round(running: Rig, bounds: Bounds) -> None:
    rng = random.Random(bounds.seed)
    async with running.servers[0].client() as session, asyncio.TaskGroup() as group:
        informers = [Informer([session], random.Random(rng.random())) for _ in range(20)]
        tasks = [group.create_task(informer.run()) for informer in informers]
        async with running.load() as load:
            await load.some_answers(400, seconds=120)
        for task in tasks:
            task.cancel()


async def _footprint(running: Rig) -> Footprint:
    """When the clients' connections have ended."""
    session, pid = running.sessions[0], running.servers[0].pid
    async with asyncio.timeout(20):
        while (await metrics(session))["quotaapi_watches_open"]:
            await asyncio.sleep(0.1)  # another process: there is nothing to wait on
    return await _measured(session, pid)


async def _measured(session: aiohttp.ClientSession, pid: int) -> Footprint:
    found = await metrics(session)
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Footprint(
        rss_kib=pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),
        tasks=int(found["quotaapi_tasks"]),
        watches=int(found["quotaapi_watches_open"]),
    )
