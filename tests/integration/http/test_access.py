"""Who gets in, who may, how many at once."""

import asyncio
import ssl
from datetime import UTC, datetime

import aiohttp
import pytest

from apis.meta.request import UserInfo
from quotaapi import tls
from quotaapi.auth.interface import Attributes, Decision
from tests.builders import a_quota
from tests.fakes.http_server import GROUP_PATH, QUOTAS, USERS, http_server

NOBODY = {"Authorization": ""}


@pytest.mark.parametrize("path", [QUOTAS, "/version", "/apis", "/metrics", "/", "/nowhere"])
async def test_nobody_gets_in_without_credentials(server, path) -> None:
    answer = await server.session.get(path, headers=NOBODY)

    assert (answer.status, (await answer.json())["message"]) == (401, "Unauthorized")
    assert "WWW-Authenticate" in answer.headers


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/readyz/ping", "/readyz?verbose"])
async def test_health_is_open_to_everybody(server, path) -> None:
    assert (await server.session.get(path, headers=NOBODY)).status == 200


async def test_a_wrong_token_is_not_taken_for_none(server) -> None:
    answer = await server.session.get(QUOTAS, headers={"Authorization": "Bearer wrong"})

    assert answer.status == 401


async def test_a_token_tells_who_writes(server) -> None:
    await server.session.post(QUOTAS, json=a_quota(name="a", namespace="ns"))

    assert server.quotas.users == [USERS["alice-token"]]


async def test_a_certificate_tells_who_writes(server) -> None:
    connector = aiohttp.TCPConnector(ssl=server.client_ssl(certificate=True))
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        await session.post(QUOTAS, json=a_quota(name="a", namespace="ns"))

    assert server.quotas.users == [UserInfo("admin", ("system:masters", "system:authenticated"))]


async def test_a_certificate_of_another_ca_does_not_get_in(server, tmp_path) -> None:
    stranger = tls.ensure(tmp_path / "other", "127.0.0.1", lambda: datetime.now(UTC))
    context = server.client_ssl()
    context.load_cert_chain(stranger.admin_cert, stranger.admin_key)

    with pytest.raises((ssl.SSLError, aiohttp.ClientError, ConnectionError)):
        async with aiohttp.ClientSession(
            server.url, connector=aiohttp.TCPConnector(ssl=context)
        ) as session:
            await session.get("/livez")


@pytest.mark.parametrize("header", ["X-Remote-User", "Impersonate-User", "x-remote-user"])
async def test_a_claim_in_a_header_is_no_credential(server, header) -> None:
    answer = await server.session.get(QUOTAS, headers={**NOBODY, header: "admin"})

    assert answer.status == 401


class Refusing:
    """Allows nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Attributes]] = []

    async def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        self.asked.append((user.name, attributes))
        return Decision(allowed=False, reason="no rule matched")


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "GET",
            f"{QUOTAS}/a",
            'quotas.garden.sapcloud.io "a" is forbidden: User "alice" cannot get resource "quotas" '
            'in API group "garden.sapcloud.io" in the namespace "ns": no rule matched',
        ),
        (
            "PUT",
            f"{QUOTAS}/a/status",
            'quotas.garden.sapcloud.io "a" is forbidden: User "alice" cannot update resource '
            '"quotas/status" in API group "garden.sapcloud.io" in the namespace "ns": no rule matched',
        ),
        (
            "GET",
            f"{GROUP_PATH}/cloudprofiles",
            'cloudprofiles.garden.sapcloud.io is forbidden: User "alice" cannot list resource '
            '"cloudprofiles" in API group "garden.sapcloud.io" at the cluster scope: no rule matched',
        ),
        ("GET", "/metrics", 'forbidden: User "alice" cannot get path "/metrics": no rule matched'),
    ],
)
async def test_a_refusal_names_user_verb_and_resource(certificates, method, path, message) -> None:
    async with http_server(certificates, authorizer=Refusing()) as server:
        answer = await server.session.request(method, path)

        assert (answer.status, (await answer.json())["message"]) == (403, message)


async def test_masters_pass_without_being_asked_for(certificates) -> None:
    authorizer = Refusing()
    async with http_server(certificates, authorizer=authorizer) as server:
        answer = await server.session.get(QUOTAS, headers={"Authorization": "Bearer root-token"})

        assert (answer.status, authorizer.asked) == (200, [])


async def test_more_writes_than_the_limit_are_told_to_come_again_masters_and_reads_are_not(
    certificates,
) -> None:
    async with http_server(certificates, max_writes=1) as server:
        begun, go = asyncio.Event(), asyncio.get_running_loop().create_future()

        def wait() -> asyncio.Future[None]:
            begun.set()
            return asyncio.shield(go)

        server.quotas.before_write = wait
        first = asyncio.ensure_future(
            server.session.post(QUOTAS, json=a_quota(name="a", namespace="ns"))
        )
        await begun.wait()
        second = await server.session.post(QUOTAS, json=a_quota(name="b", namespace="ns"))
        read = await server.session.get(QUOTAS)
        probe = await server.session.get("/readyz")
        master = asyncio.ensure_future(
            server.session.post(
                QUOTAS,
                json=a_quota(name="c", namespace="ns"),
                headers={"Authorization": "Bearer root-token"},
            )
        )
        go.set_result(None)

        assert (second.status, second.headers["Retry-After"]) == (429, "1")
        assert (read.status, probe.status) == (200, 200)
        assert [(await answer).status for answer in (first, master)] == [201, 201]


async def test_more_reads_than_the_limit_are_told_to_come_again(certificates) -> None:
    async with http_server(certificates, max_reads=1) as server:
        server.reads.running = 1

        answer = await server.session.get(QUOTAS)

        assert answer.status == 429
