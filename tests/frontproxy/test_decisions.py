"""Decisions of the cluster: kept, shared, and refused where nobody can be asked."""

import asyncio

import pytest

from tests.builders import a_quota
from tests.frontproxy.cluster import ACCESS_REVIEWS, TOKEN, TOKEN_REVIEWS
from tests.frontproxy.pki import Pair
from tests.frontproxy.scene import Authorities

pytestmark = pytest.mark.integration


@pytest.fixture
def user(authorities: Authorities) -> Pair:
    return authorities.users.client("alice", "dev")


async def test_a_denial_is_a_403_in_kube_apiservers_words(
    server, cluster, user, namespace, quotas
) -> None:
    cluster.may = lambda _spec: False

    status, body = await server.ask(quotas, pair=user)

    assert status == 403
    assert body["message"] == (
        'quotas.garden.sapcloud.io is forbidden: User "alice" cannot list resource "quotas" '
        f'in API group "garden.sapcloud.io" in the namespace "{namespace}"'
    )


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_decision_is_asked_for_once(server, cluster, user, quotas, allowed) -> None:
    cluster.may = lambda _spec: allowed

    answers = [await server.ask(quotas, pair=user) for _ in range(3)]

    assert {status for status, _ in answers} == {200 if allowed else 403}
    assert cluster.asked[ACCESS_REVIEWS] == 1


async def test_many_who_ask_the_same_at_once_are_one_question(
    server, cluster, user, quotas
) -> None:
    cluster.hold.set()
    asking = [asyncio.ensure_future(server.ask(quotas, pair=user)) for _ in range(10)]
    await asyncio.wait(asking, timeout=0.5)
    cluster.hold.clear()

    statuses = [(await answer)[0] for answer in asking]

    assert (statuses, cluster.asked[ACCESS_REVIEWS]) == ([200] * 10, 1)


async def test_another_verb_is_another_question(server, cluster, user, quotas, namespace) -> None:
    cluster.may = lambda spec: spec["resourceAttributes"]["verb"] == "list"

    read, _ = await server.ask(quotas, pair=user)
    write, _ = await server.ask(quotas, pair=user, method="POST", body=a_quota(namespace=namespace))

    assert (read, write) == (200, 403)


async def test_a_token_is_reviewed_once_in_ten_seconds(server, cluster, quotas) -> None:
    cluster.tokens["once"] = {"username": "bot"}

    for _ in range(3):
        await server.ask(quotas, headers={"Authorization": "Bearer once"})
        await server.ask(quotas, headers={"Authorization": "Bearer never"})

    assert cluster.asked[TOKEN_REVIEWS] == 2


async def test_the_server_shows_its_own_credentials(server, cluster, user, quotas) -> None:
    await server.ask(quotas, pair=user)

    assert cluster.credentials == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("status", [500, 503, 429, 403, 401])
async def test_a_cluster_that_cannot_answer_is_a_503(server, cluster, user, quotas, status) -> None:
    cluster.status = status

    code, body = await server.ask(quotas, pair=user)

    assert (code, body["reason"], body["details"]) == (
        503,
        "ServiceUnavailable",
        {"retryAfterSeconds": 1},
    )


async def test_a_token_that_nobody_can_review_is_a_503(server, cluster, quotas) -> None:
    cluster.status = 500

    status, _ = await server.ask(quotas, headers={"Authorization": "Bearer unheard-of"})

    assert status == 503


async def test_what_failed_is_asked_again(server, cluster, user, quotas) -> None:
    cluster.status = 500
    await server.ask(quotas, pair=user)
    cluster.status = 0

    status, _ = await server.ask(quotas, pair=user)

    assert status == 200


async def test_without_the_cluster_what_is_known_holds_and_the_rest_is_refused(
    server, cluster, user, quotas, authorities
) -> None:
    await server.ask(quotas, pair=user)
    admin = authorities.users.client("root", "system:masters")
    cluster.go()
    try:
        known, _ = await server.ask(quotas, pair=user)
        unknown, _ = await server.ask("shoots", pair=user)
        master, _ = await server.ask("shoots", pair=admin)
        await server.wait_readiness(503)
        text = await server.text("/readyz")
    finally:
        cluster.come()
    await server.wait_readiness(200)

    assert (known, unknown, master) == (200, 503, 200)
    assert "[-]kube-apiserver failed" in text
    assert "readyz check failed: kube-apiserver:" in server.log()


async def test_a_write_is_logged_with_its_user_and_audit_id(
    server, cluster, user, quotas, namespace
) -> None:
    await server.ask(
        quotas,
        pair=user,
        method="POST",
        body=a_quota(namespace=namespace),
        headers={"Audit-Id": f"id-of-{namespace}"},
    )

    line = next(line for line in server.log().splitlines() if f"id-of-{namespace}" in line)
    assert "user='alice'" in line
    assert f"verb=create path='/apis/garden.sapcloud.io/v1beta1/{quotas}' code=201" in line


@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_a_collection_of_one_by_its_name_is_asked_for_by_that_name(
    server, cluster, user, quotas, verb
) -> None:
    cluster.may = lambda _spec: False
    params = "fieldSelector=metadata.name%3Dmine,metadata.namespace%3Dx"

    status, body = await server.ask(f"{quotas}?{params}&watch={verb == 'watch'}", pair=user)

    asked = cluster.reviewed[-1]["resourceAttributes"]
    assert (status, asked["verb"], asked["name"]) == (403, verb, "mine")
    assert body["details"]["name"] == "mine"
