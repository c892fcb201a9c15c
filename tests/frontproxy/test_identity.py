"""Who a request comes from: the front proxy's word, a certificate, a token; and nobody's pretence."""

import asyncio
import ssl

import aiohttp
import pytest
import requests

pytestmark = pytest.mark.integration

CLAIM = {"X-Remote-User": "alice", "X-Remote-Group": "system:masters"}


def user_asked_for(cluster) -> str:
    """As whom the last request was authorized."""
    found: str = cluster.reviewed[-1]["user"]
    return found


async def test_the_front_proxy_says_who_it_is(
    server, quotas, namespace, cluster, authorities
) -> None:
    proxy = authorities.proxies.client("front-proxy-client")
    headers = [
        ("X-Remote-User", "alice"),
        ("X-Remote-Group", "dev"),
        ("X-Remote-Group", "ops"),
        ("X-Remote-Extra-Scopes", "one"),
        ("X-Remote-Extra-Scopes", "two"),
        ("X-Remote-Extra-Example.org%2Fkey", "three"),
    ]

    status, _ = await server.ask(quotas, pair=proxy, headers=headers)

    assert status == 200
    assert cluster.reviewed[-1] == {
        "user": "alice",
        "groups": ["dev", "ops", "system:authenticated"],
        "extra": {"scopes": ["one", "two"], "example.org/key": ["three"]},
        "resourceAttributes": {
            "verb": "list",
            "group": "garden.sapcloud.io",
            "version": "v1beta1",
            "resource": "quotas",
            "namespace": namespace,
        },
    }


async def test_a_proxy_certificate_below_the_requestheader_ca_counts(
    server, quotas, cluster, authorities
) -> None:
    proxy = authorities.proxies.client("front-proxy-client", below=True)

    await server.ask(quotas, pair=proxy, headers={"X-Remote-User": "alice"})

    assert user_asked_for(cluster) == "alice"


async def test_certificates_of_version_1_count(server, quotas, cluster, authorities) -> None:
    await server.ask(quotas, pair=authorities.users.plain_client("bob"))
    user = user_asked_for(cluster)
    proxy = authorities.proxies.plain_client("front-proxy-client")
    await server.ask(quotas, pair=proxy, headers={"X-Remote-User": "alice"})

    assert (user, user_asked_for(cluster)) == ("bob", "alice")


async def test_masters_of_the_front_proxy_pass_without_being_asked_for(
    server, quotas, cluster, authorities
) -> None:
    proxy = authorities.proxies.client("front-proxy-client")

    status, _ = await server.ask(quotas, pair=proxy, headers=CLAIM)

    assert (status, cluster.reviewed) == (200, [])


async def test_a_claim_without_a_certificate_is_not_heard(server, quotas, cluster) -> None:
    await server.ask(quotas, headers=CLAIM)

    assert user_asked_for(cluster) == "system:anonymous"
    assert cluster.reviewed[-1]["groups"] == ["system:unauthenticated"]


@pytest.mark.parametrize("name", ["front-proxy-client", "alice"])
async def test_a_claim_with_a_users_certificate_is_not_heard(
    server, quotas, cluster, authorities, name
) -> None:
    user = authorities.users.client(name, "dev")

    await server.ask(quotas, pair=user, headers={"X-Remote-User": "root", **CLAIM})

    assert user_asked_for(cluster) == name
    assert cluster.reviewed[-1]["groups"] == ["dev", "system:authenticated"]


async def test_a_proxy_with_another_name_is_not_heard(server, quotas, cluster, authorities) -> None:
    proxy = authorities.proxies.client("somebody", "system:masters")

    await server.ask(quotas, pair=proxy, headers=CLAIM)

    assert user_asked_for(cluster) == "system:anonymous"


async def test_a_certificate_of_the_requestheader_ca_is_no_users(
    server, quotas, cluster, authorities
) -> None:
    proxy = authorities.proxies.client("front-proxy-client", "system:masters")

    await server.ask(quotas, pair=proxy)

    assert user_asked_for(cluster) == "system:anonymous"


async def test_a_strangers_certificate_does_not_get_in(server, quotas, authorities) -> None:
    stranger = authorities.strangers.client("front-proxy-client")

    with pytest.raises((ssl.SSLError, aiohttp.ClientError, ConnectionError)):
        await server.ask(quotas, pair=stranger, headers=CLAIM)
    assert "a client's certificate is refused, its connection ended" in server.log()


@pytest.mark.parametrize(
    ("headers", "user", "groups"),
    [
        ([("X-Remote-User", "alice"), ("X-Remote-User", "root")], "alice", []),
        ([("x-REMOTE-uSER", "alice"), ("x-remote-group", "dev")], "alice", ["dev"]),
        ([("X_Remote_User", "root"), ("X-Remote-User", "alice")], "alice", []),
        ([("X-Remote-User", "alice"), ("X-Remote-Group", "")], "alice", []),
        ([("X-Remote-User", ""), ("X-Remote-User", "root")], "system:anonymous", None),
        ([("X-Remote-Group", "system:masters")], "system:anonymous", None),
    ],
)
async def test_headers_are_read_as_go_reads_them(
    server, quotas, cluster, authorities, headers, user, groups
) -> None:
    proxy = authorities.proxies.client("front-proxy-client")

    await server.ask(quotas, pair=proxy, headers=headers)

    wanted = ["system:unauthenticated"] if groups is None else [*groups, "system:authenticated"]
    assert (user_asked_for(cluster), cluster.reviewed[-1]["groups"]) == (user, wanted)


async def test_anonymous_through_the_proxy_stays_anonymous(
    server, quotas, cluster, authorities
) -> None:
    proxy = authorities.proxies.client("front-proxy-client")
    headers = {"X-Remote-User": "system:anonymous", "X-Remote-Group": "system:unauthenticated"}

    await server.ask(quotas, pair=proxy, headers=headers)

    assert cluster.reviewed[-1]["groups"] == ["system:unauthenticated"]


async def test_a_users_certificate_names_user_and_groups(
    server, quotas, cluster, authorities
) -> None:
    await server.ask(quotas, pair=authorities.users.client("bob", "dev", "ops"))

    assert user_asked_for(cluster) == "bob"
    assert cluster.reviewed[-1]["groups"] == ["dev", "ops", "system:authenticated"]


async def test_a_token_is_reviewed_by_the_cluster(server, quotas, cluster) -> None:
    cluster.tokens["good"] = {
        "username": "system:serviceaccount:garden:bot",
        "uid": "u-1",
        "groups": ["system:serviceaccounts"],
        "extra": {"pod": ["p"]},
    }

    status, _ = await server.ask(quotas, headers={"Authorization": "Bearer good"})

    spec = cluster.reviewed[-1]
    assert (status, spec["user"], spec["uid"]) == (200, "system:serviceaccount:garden:bot", "u-1")
    assert spec["extra"] == {"pod": ["p"]}


async def test_a_token_that_the_cluster_refuses_is_a_401(server, quotas) -> None:
    status, _ = await server.ask(quotas, headers={"Authorization": "Bearer bad"})

    assert status == 401


@pytest.mark.parametrize(
    "name",
    ["Impersonate-User", "impersonate-group", "Impersonate-Uid", "IMPERSONATE-EXTRA-scopes"],
)
async def test_impersonation_past_kube_apiserver_is_refused(
    server, quotas, authorities, name
) -> None:
    admin = authorities.users.client("admin", "system:masters")

    status, body = await server.ask(quotas, pair=admin, headers={name: "bob"})

    assert (status, body["reason"]) == (403, "Forbidden")


@pytest.mark.parametrize("name", ["X-Remote-User", "X-Remote-Group", "X-Remote-Extra-Scopes"])
async def test_who_is_named_by_bytes_that_are_no_utf_8_is_a_bad_request(
    server, cluster, authorities, name
) -> None:
    proxy = authorities.proxies.client("front-proxy-client")
    asked = len(cluster.reviewed)

    def get() -> requests.Response:
        with requests.Session() as session:  # aiohttp's client does not send such bytes
            session.trust_env = False
            return session.get(
                f"{server.url}/apis",
                headers={"X-Remote-User": b"alice", name: b"\xff\xfe"},
                cert=(str(proxy.cert), str(proxy.key)),
                verify=str(authorities.serving.path),
                timeout=10,
            )

    answer = await asyncio.to_thread(get)

    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert len(cluster.reviewed) == asked


async def test_discovery_is_the_authorizers_to_allow(server, cluster) -> None:
    cluster.may = lambda _spec: False

    status, _ = await server.ask("/apis")

    assert status == 403
    assert cluster.reviewed[-1]["nonResourceAttributes"] == {"path": "/apis", "verb": "get"}
