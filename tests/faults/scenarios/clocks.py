"""A replica's clock jumps by an hour, forth and back. etcd's leases and every deadline are not told.

libfaketime (Debian: libfaketime) shifts what the process reads of the wall clock; monotonic time
goes on. etcd reads the clock without the C library: nothing short of the machine's own clock moves it.
"""

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from tests.builders import a_shoot
from tests.faults.footprint import metrics
from tests.faults.rig import Bounds, one_etcd, rig
from tests.harness.api import Api

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


async def clock_jumps(bounds: Bounds) -> None:
    """Another replica's clock is right. Creates get the time of whoever serves them."""
    assert LIBRARY is not None
    with tempfile.TemporaryDirectory(prefix="faults-clock-") as directory:
        shift = Path(directory, "shift")
        shift.write_text("+0")
        environment = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(shift),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        async with (
            one_etcd() as etcd,
            rig(etcd.endpoint, bounds, replicas=2, environment=environment) as running,
        ):
            api = running.apis[0]
            terms = await _terms(running.sessions)
            for _ in range(bounds.rounds):
                async with running.load() as load:
                    for jump in ("+3600", "+0", "-3600", "+0"):
                        shift.write_text(jump)
                        await load.some_answers(30)
                        await _created_at(api, jump)
            assert await _terms(running.sessions) == terms, "a clock made the leader change"
            shift.write_text("+0")


async def _terms(sessions: Sequence[aiohttp.ClientSession]) -> float:
    return sum([(await metrics(each))["quotaapi_leader_terms_total"] for each in sessions])


async def _created_at(api: Api, jump: str) -> None:
    """The server did see the jump."""
    shoot = a_shoot(name="clock", namespace="garden-a")
    answer = await api.create(shoot)
    if answer.status == 201:
        made = datetime.fromisoformat(answer.body["metadata"]["creationTimestamp"])
        expected = datetime.now(UTC) + timedelta(seconds=int(jump))
        assert abs(made - expected) < timedelta(minutes=5)
        assert (await api.delete_object(shoot)).status == 200
    else:
        assert answer.status == 403, answer
