"""Three etcd members under load, the leader killed, stopped, or cut off from the others."""

import asyncio
import signal
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from tests.faults.etcd_cluster import Cluster, Member, three_members
from tests.faults.rig import Bounds, Rig, rig

Fault = Callable[[Cluster, Member], None]


async def leader_is_killed(bounds: Bounds) -> None:
    def fault(_cluster: Cluster, leader: Member) -> None:
        leader.kill()

    def end(cluster: Cluster, leader: Member) -> None:
        cluster.launch(leader)

    await _leader(bounds, fault, end)


async def leader_stands_still(bounds: Bounds) -> None:
    def fault(_cluster: Cluster, leader: Member) -> None:
        leader.signal(signal.SIGSTOP)

    def end(_cluster: Cluster, leader: Member) -> None:
        leader.signal(signal.SIGCONT)

    await _leader(bounds, fault, end)


async def leader_is_cut_off(bounds: Bounds) -> None:
    """It still takes requests, and cannot commit them; some are applied when it is back."""

    def fault(cluster: Cluster, leader: Member) -> None:
        cluster.isolate(leader)

    def end(cluster: Cluster, _leader: Member) -> None:
        cluster.heal()

    await _leader(bounds, fault, end)


async def _leader(bounds: Bounds, fault: Fault, end: Fault) -> None:
    async with AsyncExitStack() as ending:
        directory = ending.enter_context(tempfile.TemporaryDirectory(prefix="faults-members-"))
        cluster = await ending.enter_async_context(three_members(Path(directory), bounds.seed))
        running = await ending.enter_async_context(
            rig(
                cluster.members[0].endpoint,
                bounds,
                replicas=2,
                etcd_servers=(cluster.endpoints, ",".join(reversed(cluster.endpoints.split(",")))),
            )
        )
        await _rounds(bounds, cluster, running, fault, end)


async def _rounds(bounds: Bounds, cluster: Cluster, running: Rig, fault: Fault, end: Fault) -> None:
    async with running.load() as load:
        for _ in range(bounds.rounds):
            await load.some_answers(40)
            leader = await cluster.leader()
            await asyncio.to_thread(fault, cluster, leader)
            await cluster.leader(besides=leader)
            await load.some_answers(40)  # while it is away
            await asyncio.to_thread(end, cluster, leader)
            await cluster.leader()
        await load.some_answers(40)
