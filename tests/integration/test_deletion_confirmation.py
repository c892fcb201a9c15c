"""Deletions that are to be confirmed, on a server that stands alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from apis.garden.v1beta1.shoot import CONFIRMATION, CREATION_TIME
from apis.meta.codec import decode_json
from apis.meta.times import format_rfc3339
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api, Object
from tests.harness.server import GROUP_PATH, ServerProcess

SHOOTS = "namespaces/garden-dev/shoots"
REFUSAL = (
    'must have a "confirmation.garden.sapcloud.io/deletion" annotation to delete (value "true")'
)


@pytest.fixture
def server(tmp_path: Path, own_etcd_url: str) -> Iterator[ServerProcess]:
    with ServerProcess(
        tmp_path / "data",
        etcd_servers=own_etcd_url,
        arguments=("--require-deletion-confirmation",),
    ) as process:
        yield process


@pytest_asyncio.fixture
async def api(server: ServerProcess) -> AsyncIterator[Api]:
    async with server.client() as session:
        api = Api(session)
        await api.have(a_profile(), a_quota(days=1), a_binding(quotas=["quota"]))
        yield api


def annotated(name: str, **annotations: str) -> Object:
    shoot = a_shoot(name=name)
    shoot["metadata"]["annotations"] = annotations
    return shoot


async def names(api: Api) -> list[str]:
    return [item["metadata"]["name"] for item in await api.items("Shoot")]


async def test_what_does_not_say_so_is_not_deleted_alone_nor_with_its_collection(api: Api) -> None:
    confirmed = {CONFIRMATION: "true"}
    await api.have(*(a_shoot(name=f"kept-{i}") for i in range(3)), annotated("gone", **confirmed))

    for path in (f"{SHOOTS}/kept-0", f"{SHOOTS}/kept-0?dryRun=All", SHOOTS):
        answer = await api.request("DELETE", path)
        assert (answer.status, answer.message.partition(": ")[2]) == (403, REFUSAL)
    assert {"kept-0", "kept-1", "kept-2"} <= set(await names(api))

    for name in await names(api):
        await api.patch("Shoot", "garden-dev", name, {"metadata": {"annotations": confirmed}})
    assert (await api.request("DELETE", SHOOTS)).status == 200
    assert await names(api) == []
    assert await api.used("garden-trial", "quota") == {"cpu": "0"}


async def test_the_end_of_a_life_and_a_missing_owner_need_no_confirmation(
    api: Api, server: ServerProcess
) -> None:
    days_ago = format_rfc3339(datetime.now(UTC) - timedelta(days=2))
    owned = a_shoot(name="owned")
    uid = "00000000-0000-0000-0000-000000000000"
    owner = {"apiVersion": owned["apiVersion"], "kind": "Quota", "name": "none", "uid": uid}
    owned["metadata"]["ownerReferences"] = [owner]
    listed = await api.request("GET", "shoots")
    await api.have(annotated("old", **{CREATION_TIME: days_ago}), owned, a_shoot(name="kept"))
    # A leader looks for expired shoots when it begins to lead.
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)

    gone: set[str] = set()
    params = {"watch": "1", "resourceVersion": listed.body["metadata"]["resourceVersion"]}
    async with (
        server.client() as session,
        session.get(f"{GROUP_PATH}/shoots", params=params) as answer,
        asyncio.timeout(40),
    ):
        while len(gone) < 2:
            event = decode_json(await answer.content.readline()).value
            if event["type"] == "DELETED":
                gone.add(event["object"]["metadata"]["name"])
        assert gone == {"old", "owned"}
        assert await names(Api(session)) == ["kept"]
