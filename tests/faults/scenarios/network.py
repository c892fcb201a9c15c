"""etcd that stops, is slow, loses connections, or answers when nobody listens any more."""

import asyncio
import random

from tests.faults.chaos_proxy import FAIR, Weather, chaos_proxy
from tests.faults.rig import Bounds, one_etcd, rig

LONGEST_STOP_SECONDS = 30.0


async def etcd_stands_still(bounds: Bounds) -> None:
    """Stopped longer than every deadline of the server's, where the bounds allow."""
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=2) as running:  # noqa: SIM117 -- the load within
        async with running.load() as load:
            for _ in range(bounds.rounds):
                await load.some_answers(60)
                etcd.pause()
                await asyncio.sleep(min(bounds.pause_seconds * 4, LONGEST_STOP_SECONDS))
                etcd.resume()
            await load.some_answers(60)


async def etcd_is_slow(bounds: Bounds) -> None:
    await _in(bounds, Weather(delay_seconds=0.3))


async def etcd_is_cut_off_in_the_middle_of_answers(bounds: Bounds) -> None:
    await _in(bounds, Weather(cut=0.1, lose=0.1, delay_seconds=0.01))


async def etcd_answers_after_its_client_gave_up(bounds: Bounds) -> None:
    await _in(bounds, Weather(stuck=0.1, stuck_seconds=4.0))


async def _in(bounds: Bounds, weather: Weather) -> None:
    """One replica in this weather, another with a fair connection, on the same quotas."""
    rng = random.Random(bounds.seed)
    async with (
        one_etcd() as etcd,
        chaos_proxy(etcd.port, seed=bounds.seed) as proxy,
        rig(
            etcd.endpoint,
            bounds,
            replicas=2,
            etcd_servers=(proxy.endpoint, etcd.endpoint),
        ) as running,
    ):
        async with running.load() as load:
            for _ in range(bounds.rounds):
                await load.some_answers(60)
                proxy.weather = weather
                await asyncio.sleep(bounds.pause_seconds * (1 + rng.random()))
                proxy.weather = FAIR
            await load.some_answers(60)
        assert weather.delay_seconds > 0.1 or proxy.troubles
