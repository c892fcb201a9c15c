"""Namespaces and secrets are the cluster's."""

from typing import Any

import pytest

from tests.builders import a_binding, a_quota
from tests.frontproxy.pki import Pair
from tests.frontproxy.scene import Authorities, BehindCluster

pytestmark = pytest.mark.integration


@pytest.fixture
def user(authorities: Authorities) -> Pair:
    return authorities.users.client("alice", "dev")


async def create(server: BehindCluster, user: Pair, obj: Any) -> tuple[int, Any]:
    plural = {"Quota": "quotas", "CrossSecretBinding": "crosssecretbindings"}[obj["kind"]]
    path = f"namespaces/{obj['metadata']['namespace']}/{plural}"
    return await server.ask(path, pair=user, method="POST", body=obj)


async def test_an_object_is_made_in_a_namespace_that_exists(server, user, namespace) -> None:
    status, _ = await create(server, user, a_quota(namespace=namespace))

    assert status == 201


async def test_a_namespace_that_does_not_exist_is_not_found(server, cluster, user) -> None:
    status, body = await create(server, user, a_quota(namespace="nowhere"))

    assert (status, body["message"]) == (404, 'namespaces "nowhere" not found')


async def test_a_namespace_that_the_watch_has_not_brought_is_looked_up(
    server, cluster, user
) -> None:
    cluster.namespaces["unseen"] = {"kind": "Namespace", "metadata": {"name": "unseen"}}

    status, _ = await create(server, user, a_quota(namespace="unseen"))

    assert status == 201


async def test_nothing_is_made_in_a_namespace_that_is_going_away(
    server, cluster, user, namespace
) -> None:
    await create(server, user, a_quota(namespace=namespace))
    cluster.add_namespace(namespace, terminating=True)
    answers = []

    async def refused() -> bool:
        answers.append(await create(server, user, a_quota(name="late", namespace=namespace)))
        return bool(answers[-1][0] == 403)

    while not await refused():
        await server.ask(f"namespaces/{namespace}/quotas/late", pair=user, method="DELETE")
    deleted, _ = await server.ask(
        f"namespaces/{namespace}/quotas/quota", pair=user, method="DELETE"
    )

    body = answers[-1][1]
    assert body["message"] == (
        'quotas.garden.sapcloud.io "late" is forbidden: unable to create new content in '
        f"namespace {namespace} because it is being terminated"
    )
    assert body["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    assert deleted == 200


async def test_without_the_cluster_an_unknown_namespace_is_a_503(server, cluster, user) -> None:
    await server.ask("namespaces/elsewhere/quotas", pair=user)
    cluster.may = lambda _spec: True
    await create(server, user, a_quota(namespace="elsewhere"))
    cluster.go()
    try:
        status, _ = await create(server, user, a_quota(namespace="elsewhere"))
    finally:
        cluster.come()
    await server.wait_readiness(200)

    assert status == 503


async def test_a_binding_needs_the_right_to_read_its_secret_and_its_quotas(
    server, cluster, user, namespace
) -> None:
    cluster.secrets.add((namespace, "account"))
    await create(server, user, a_quota(namespace=namespace))
    binding = a_binding(namespace=namespace, quotas=["quota"], quota_namespace=namespace)
    forbidden = {"secrets": "account", "quotas": "quota"}
    messages = []
    for resource in forbidden:
        # The name makes each a question of its own.
        cluster.may = lambda spec, resource=resource: (
            not (
                spec["resourceAttributes"]["verb"] == "get"
                and spec["resourceAttributes"]["resource"] == resource
            )
        )
        other = authenticated_as(server, f"reader-of-no-{resource}")
        messages.append((await create(server, other, binding))[1]["message"])

    assert [message.partition(": ")[2] for message in messages] == [
        "CrossSecretBinding cannot reference a secret you are not allowed to read",
        "CrossSecretBinding cannot reference a quota you are not allowed to read",
    ]


def authenticated_as(server: BehindCluster, name: str) -> Pair:
    return server.authorities.users.client(name)


async def test_a_binding_to_a_secret_that_does_not_exist_is_invalid(
    server, cluster, user, namespace
) -> None:
    await create(server, user, a_quota(namespace=namespace))

    binding = a_binding(namespace=namespace, quotas=["quota"], quota_namespace=namespace)
    status, body = await create(server, user, binding)
    cluster.secrets.add((namespace, "account"))
    again, _ = await create(server, user, binding)

    assert (status, body["details"]["causes"][0]["field"]) == (422, "secretRef.name")
    assert again == 201


async def test_a_namespace_that_was_deleted_is_not_found(server, cluster, user, namespace) -> None:
    await create(server, user, a_quota(namespace=namespace))
    cluster.remove_namespace(namespace)

    async def answer() -> int:
        return int((await create(server, user, a_quota(name="late", namespace=namespace)))[0])

    while (status := await answer()) == 409 or status == 201:
        pass

    assert status == 404
