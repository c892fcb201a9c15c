"""kill -9 at any instant: of a replica, of etcd, of both at once."""

import asyncio
import random
from collections.abc import Sequence

from tests.etcd_process import EtcdProcess
from tests.faults.rig import Bounds, Rig, one_etcd, rig
from tests.harness.server import ServerProcess


async def kill_a_server(bounds: Bounds) -> None:
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=2) as running:
        await _kill(bounds, running, running.servers[:1], None)


async def kill_etcd(bounds: Bounds) -> None:
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=2) as running:
        await _kill(bounds, running, (), etcd)


async def kill_both(bounds: Bounds) -> None:
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds) as running:
        await _kill(bounds, running, running.servers, etcd)


async def _kill(
    bounds: Bounds,
    running: Rig,
    servers: Sequence[ServerProcess],
    etcd: EtcdProcess | None,
) -> None:
    rng = random.Random(bounds.seed)
    async with running.load() as load:
        for _ in range(bounds.rounds):
            # Neither too early nor always at the same phase of a batch.
            await load.some_answers(rng.randint(50, 150))
            for server in servers:
                server.kill9()
            if etcd is not None:
                etcd.kill()
                await asyncio.to_thread(etcd.start)
            for server in servers:
                await asyncio.to_thread(server.start)
        await load.some_answers(50)
