"""The whole HTTP layer on a real TLS socket, over `FakeRest`: for tests of HTTP alone."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from random import Random

import aiohttp

from apis.garden.v1beta1.register import BY_PLURAL, CLOUD_PROFILE, QUOTA, QUOTA_USAGE, RESOURCES
from apis.meta.request import UserInfo
from quotaapi import tls
from quotaapi.auth.certificates import CertificateAuthenticator
from quotaapi.auth.interface import Authorizer, authenticated
from quotaapi.auth.peers import Peers
from quotaapi.auth.standalone import AllowAuthenticated
from quotaapi.auth.tokens import TokenAuthenticator, _digest
from quotaapi.endpoints import discovery, metrics, standalone
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.health import Health, alive
from quotaapi.endpoints.mutations import Mutations
from quotaapi.endpoints.routes import dispatcher
from quotaapi.endpoints.watching import Watches
from quotaapi.filters import chain
from quotaapi.filters.accounting import RequestCounts
from quotaapi.filters.inflight import InflightLimit
from quotaapi.registry.heavy import Heavy
from quotaapi.server.listener import Listener
from quotaapi.trust import Authorities
from tests.fakes.rest import FakeRest

GROUP_PATH = "/apis/garden.sapcloud.io/v1beta1"
QUOTAS = f"{GROUP_PATH}/namespaces/ns/quotas"
NOW = datetime(2024, 1, 2, 3, 5, 5, tzinfo=UTC)
USERS = {
    "alice-token": authenticated("alice", ("developers",), "1"),
    "root-token": authenticated("root", ("system:masters",), "2"),
}


@dataclass
class HttpServer:
    """`ready_fault` is what the one check of /readyz says."""

    url: str
    port: int
    listener: Listener
    mutations: Mutations
    watches: Watches
    reads: InflightLimit
    quotas: FakeRest
    profiles: FakeRest
    usages: FakeRest
    material: tls.Material
    session: aiohttp.ClientSession
    faults: list[str]
    ready_fault: str = ""

    def client_ssl(self, *, certificate: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.material.ca_cert))
        if certificate:
            context.load_cert_chain(self.material.admin_cert, self.material.admin_key)
        return context


@asynccontextmanager
async def http_server(
    directory: Path,
    *,
    max_reads: int = 400,
    max_writes: int = 200,
    timeout_seconds: float = 60.0,
    bookmark_seconds: float = 60.0,
    authorizer: Authorizer | None = None,
) -> AsyncIterator[HttpServer]:
    material = tls.ensure(directory, "127.0.0.1", lambda: datetime.now(UTC))
    pair = tls.ServingPair.read(material.server_cert, material.server_key)
    authorities, peers = (
        Authorities(material.ca_cert.read_bytes()),
        Peers(lambda: datetime.now(UTC)),
    )
    peers.trust(client=authorities, proxy=Authorities())
    context = tls.server_context(pair, authorities.der)
    fakes = {
        resource.plural: FakeRest(resource) for resource in (QUOTA, CLOUD_PROFILE, QUOTA_USAGE)
    }
    watches, reads, ids, faults = Watches(), InflightLimit(max_reads), count(1), list[str]()
    async with asyncio.TaskGroup() as tasks:
        mutations = Mutations(tasks, max_writes)
        api = Api(fakes, mutations, watches, Random(1), bookmark_seconds=bookmark_seconds)
        state: list[HttpServer] = []
        checks = {
            "livez": {"ping": alive},
            "readyz": {"ping": alive, "etcd": lambda: state[0].ready_fault},
        }
        health = Health(checks, faults.append)
        counts = RequestCounts(tuple(fakes), asyncio.get_running_loop().time)
        pages = {
            **discovery.pages(RESOURCES, health.paths),
            "/metrics": metrics.page((counts.statistics,)),
        }
        filters = chain.Filters(
            health=health,
            authenticators=(CertificateAuthenticator(), TokenAuthenticator(_hashed(USERS))),
            authorizer=authorizer or AllowAuthenticated(),
            resources=BY_PLURAL,
            counts=counts,
            reads=reads,
            mutations=mutations,
            request_timeout_seconds=timeout_seconds,
            clock=lambda: NOW,
            new_id=lambda: f"audit-{next(ids)}",
            heavy=Heavy(),
            identify=peers.of_request,
        )
        alone = standalone.finder(filters.authorizer)
        listener = Listener(chain.build(filters, dispatcher(api, pages, alone)), context)
        port = await listener.start("127.0.0.1", 0)
        url = f"https://127.0.0.1:{port}"
        trusted = ssl.create_default_context(cafile=str(material.ca_cert))
        connector = aiohttp.TCPConnector(ssl=trusted, limit=100)
        try:
            async with aiohttp.ClientSession(
                url, connector=connector, headers={"Authorization": "Bearer alice-token"}
            ) as session:
                server = HttpServer(
                    url, port, listener, mutations, watches, reads,
                    fakes["quotas"], fakes["cloudprofiles"], fakes["quotausages"],
                    material, session, faults,
                )  # fmt: skip
                state.append(server)
                yield server
        finally:
            watches.end()
            await listener.stop(1.0)


def _hashed(users: dict[str, UserInfo]) -> dict[bytes, UserInfo]:
    return {_digest(token): user for token, user in users.items()}


async def lines_of(answer: aiohttp.ClientResponse, number: int) -> Sequence[bytes]:
    """The next lines of a watch."""
    async with asyncio.timeout(5):
        return [await answer.content.readline() for _ in range(number)]
