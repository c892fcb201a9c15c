"""Shoots whose time is over, in whole server processes on a real etcd."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from apis.garden.v1beta1.shoot import CREATION_TIME
from apis.meta.codec import decode_json
from apis.meta.times import format_rfc3339
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api, Object
from tests.harness.etcd import assert_exact
from tests.harness.server import GROUP_PATH, ServerProcess

FINALIZER = "example.org/teardown"


def born(days_ago: float, *, name: str, finalizers: tuple[str, ...] = ()) -> Object:
    shoot = a_shoot(name=name)
    moment = datetime.now(UTC) - timedelta(days=days_ago)
    shoot["metadata"] |= {
        "annotations": {CREATION_TIME: format_rfc3339(moment)},
        "finalizers": list(finalizers),
    }
    return shoot


async def events_after(
    session: aiohttp.ClientSession, version: str
) -> AsyncIterator[tuple[str, str, Object]]:
    """Type, name and object of every change of a shoot."""
    params = {"watch": "1", "resourceVersion": version}
    async with session.get(f"{GROUP_PATH}/shoots", params=params) as answer:
        while line := await answer.content.readline():
            event = decode_json(line).value
            yield event["type"], event["object"]["metadata"]["name"], event["object"]


def revision_of(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"]) // 1000


async def test_expired_shoots_are_deleted_by_whoever_leads_next_and_their_charge_returns_with_them(
    tmp_path: Path, own_etcd_url: str
) -> None:
    """What expired while nobody led is looked for at once. A finalizer keeps its shoot, charged."""
    with (
        ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as one,
        ServerProcess(tmp_path / "two", etcd_servers=own_etcd_url) as two,
    ):
        async with one.client() as first, two.client() as second:
            api = Api(second)
            await Api(first).have(
                a_profile(),
                a_quota(name="quota", metrics={"cpu": "100"}, days=1),
                a_quota(name="each", scope="project", metrics={"cpu": "100"}),
                a_binding(name="binding", quotas=["quota", "each"]),
                born(0.5, name="young"),
                born(2, name="held", finalizers=(FINALIZER,)),
                born(2, name="old"),
            )
            assert await api.used("garden-trial", "quota") == {"cpu": "6"}
            listed = await api.request("GET", "shoots")
            await asyncio.to_thread(one.stop)

            seen: dict[str, tuple[str, Object]] = {}
            async with asyncio.timeout(40):
                async for kind, name, obj in events_after(
                    second, listed.body["metadata"]["resourceVersion"]
                ):
                    assert name not in seen, f"{name} was changed twice"
                    seen[name] = (kind, obj)
                    if len(seen) == 2:
                        break

            (ended, gone), (marked, going) = seen["old"], seen["held"]
            assert (ended, marked) == ("DELETED", "MODIFIED")
            assert going["metadata"]["deletionTimestamp"]
            assert going["metadata"]["finalizers"] == [FINALIZER]
            quota = (await api.get("Quota", "garden-trial", "quota")).body
            [usage] = [u for u in await api.items("QuotaUsage") if "each" in u["metadata"]["name"]]
            for account in (quota, usage):
                assert account["status"]["used"] == {"cpu": "4"}
                assert revision_of(account) == revision_of(gone)
            assert [s["metadata"]["name"] for s in await api.items("Shoot")] == ["held", "young"]

            let_go = await api.patch(
                "Shoot", "garden-dev", "held", {"metadata": {"finalizers": []}}
            )
            assert let_go.status == 200
            assert (await api.get("Shoot", "garden-dev", "held")).status == 404
            assert await api.used("garden-trial", "quota") == {"cpu": "2"}
            text = await (await second.get("/metrics")).text()
            assert "\nquotaapi_shoots_expired_total 2\n" in text
    assert_exact(own_etcd_url)
