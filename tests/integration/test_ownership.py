"""managedFields over the wire, beside what the server writes by itself."""

from typing import Any

import pytest

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api
from tests.harness.server import ServerProcess

QUOTA = "namespaces/garden-trial/quotas/quota"
MINE = {"User-Agent": "someone/1.0 (linux)"}


def entries(server: ServerProcess) -> Any:
    return server.request("GET", QUOTA).json()["metadata"].get("managedFields")


@pytest.fixture
async def charged(api: Api, server: ServerProcess) -> ServerProcess:
    """A quota of somebody's, on which a shoot is charged."""
    created = server.request(
        "POST", "namespaces/garden-trial/quotas", a_quota(metrics={"shoots": "5"}), headers=MINE
    )
    assert created.status_code == 201
    before = created.json()["metadata"]["managedFields"]
    await api.have(a_profile(), a_binding(quotas=["quota"]), a_shoot())
    assert server.request("GET", QUOTA).json()["status"]["used"] == {"shoots": "1"}
    assert entries(server) == before
    return server


async def test_a_charge_leaves_the_owners_alone_and_is_nobodys(charged: ServerProcess) -> None:
    (entry,) = entries(charged)

    assert entry["manager"] == "someone"
    assert entry["fieldsV1"].keys() == {"f:spec"}


async def test_an_apply_to_a_status_cannot_touch_the_account(charged: ServerProcess) -> None:
    config = {**a_quota(metrics={"shoots": "5"}), "status": {"used": {"shoots": "0"}}}

    answer = charged.request(
        "PATCH",
        f"{QUOTA}/status?fieldManager=me&force=true",
        config,
        headers={"Content-Type": "application/apply-patch+yaml"},
    )

    assert answer.status_code == 200
    assert answer.json()["status"]["used"] == {"shoots": "1"}
    assert {entry["manager"] for entry in answer.json()["metadata"]["managedFields"]} == {"someone"}


async def test_an_apply_that_changes_nothing_keeps_the_version_beside_charges(
    charged: ServerProcess, api: Api
) -> None:
    path, headers = f"{QUOTA}?fieldManager=me", {"Content-Type": "application/apply-patch+yaml"}
    config = a_quota(metrics={"shoots": "5"})
    first = charged.request("PATCH", path, config, headers=headers).json()
    await api.have(a_shoot(name="second"))
    charged_again = charged.request("GET", QUOTA).json()

    again = charged.request("PATCH", path, config, headers=headers).json()

    assert charged_again["metadata"]["managedFields"] == first["metadata"]["managedFields"]
    assert again == charged_again
