"""Who may let a cluster live longer than its quotas lend it: the cluster is asked."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from apis.garden.v1beta1.shoot import EXPIRATION
from apis.meta.times import format_rfc3339, parse_rfc3339
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.frontproxy.pki import Pair
from tests.frontproxy.scene import Authorities, BehindCluster

pytestmark = pytest.mark.integration


@pytest.fixture
def member(authorities: Authorities) -> Pair:
    return authorities.users.client("member", "dev")


@pytest.fixture
def sponsor(authorities: Authorities) -> Pair:
    return authorities.users.client("sponsor", "ops")


async def set_expiration(
    server: BehindCluster, shoot: str, user: Pair, moment: datetime
) -> tuple[int, Any]:
    _, found = await server.ask(shoot, pair=user)
    found["metadata"]["annotations"][EXPIRATION] = format_rfc3339(moment)
    return await server.ask(shoot, pair=user, method="PUT", body=found)


async def test_a_member_keeps_to_the_lifetime_and_a_sponsor_need_not(
    server, cluster, authorities, namespace, member, sponsor
) -> None:
    admin = authorities.users.client("root", "system:masters")
    cluster.secrets.add((namespace, "account"))
    created: dict[str, Any] = {}
    for plural, obj in (
        ("cloudprofiles", a_profile(name=f"of-{namespace}")),
        ("quotas", a_quota(namespace=namespace, days=14)),
        (
            "crosssecretbindings",
            a_binding(namespace=namespace, quotas=["quota"], quota_namespace=namespace),
        ),
        ("shoots", a_shoot(namespace=namespace, profile=f"of-{namespace}")),
    ):
        scope = f"namespaces/{namespace}/" if "namespace" in obj["metadata"] else ""
        status, created = await server.ask(f"{scope}{plural}", pair=admin, method="POST", body=obj)
        assert status == 201, created
    shoot = f"namespaces/{namespace}/shoots/shoot"
    end = parse_rfc3339(created["metadata"]["creationTimestamp"]) + timedelta(days=14)
    assert created["metadata"]["annotations"][EXPIRATION] == format_rfc3339(end)
    second = timedelta(seconds=1)

    def may(spec: Any) -> bool:
        asked = spec["resourceAttributes"]
        return bool(spec["user"] == "sponsor" or asked["resource"] != "quotas")

    cluster.may = may
    status, body = await set_expiration(server, shoot, member, end + second)
    assert (status, body["reason"]) == (422, "Invalid")
    assert f"clusterLifetimeDays of quota {namespace}/quota" in body["message"]
    review = {
        "verb": "update",
        "group": "garden.sapcloud.io",
        "version": "v1beta1",
        "resource": "quotas",
        "namespace": namespace,
        "name": "quota",
    }
    assert review in [spec["resourceAttributes"] for spec in cluster.reviewed]
    assert (await set_expiration(server, shoot, member, end - second))[0] == 200
    assert (await set_expiration(server, shoot, member, end))[0] == 200

    later = end + timedelta(days=300)
    assert (await set_expiration(server, shoot, sponsor, later))[0] == 200
    assert (await set_expiration(server, shoot, member, later + second))[0] == 422

    _, found = await server.ask(shoot, pair=member)
    found["metadata"]["labels"] = {"team": "blue"}
    status, labelled = await server.ask(shoot, pair=member, method="PUT", body=found)
    assert (status, labelled["metadata"]["annotations"][EXPIRATION]) == (200, format_rfc3339(later))
