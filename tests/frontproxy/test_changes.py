"""Certificates and authorities change while the server runs; nobody is cut off for it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.frontproxy.cluster import Cluster
from tests.frontproxy.pki import Authority
from tests.frontproxy.scene import Authorities, BehindCluster, eventually, kubeconfig

pytestmark = pytest.mark.integration

PATH = "/apis/garden.sapcloud.io/v1beta1/quotas"


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> Authorities:
    return Authorities(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def cluster(authorities: Authorities) -> Iterator[Cluster]:
    with Cluster(authorities.kube) as cluster:
        cluster.set_config(**authorities.config())
        yield cluster


@pytest.fixture
def client_ca_file(tmp_path: Path, authorities: Authorities) -> Path:
    return Path(shutil.copy(authorities.strangers.path, tmp_path / "client-ca.crt"))


@pytest.fixture
def server(
    tmp_path: Path,
    cluster: Cluster,
    authorities: Authorities,
    etcd_url: str,
    client_ca_file: Path,
) -> Iterator[BehindCluster]:
    with BehindCluster(
        tmp_path / "data",
        authorities=authorities,
        kubeconfig=kubeconfig(tmp_path, cluster, authorities.kube),
        etcd_servers=etcd_url,
        arguments=("--client-ca-file", str(client_ca_file)),
    ) as process:
        yield process


async def accepted(server: BehindCluster, pair, headers=()) -> bool:
    """Whether the certificate makes its holder somebody."""
    try:
        status, _ = await server.ask(PATH, pair=pair, headers=headers)
    except (aiohttp.ClientError, OSError):
        return False
    return status == 200


async def until(server: BehindCluster, pair, *, wanted: bool, headers=()) -> None:
    while await accepted(server, pair, headers) is not wanted:
        pass


@pytest.fixture(autouse=True)
def _anonymous_may_nothing(cluster: Cluster) -> None:
    cluster.may = lambda spec: "system:authenticated" in spec["groups"]


async def test_a_new_serving_certificate_is_served_and_open_connections_stay(
    server, authorities
) -> None:
    user = authorities.users.client("alice")
    connector = aiohttp.TCPConnector(ssl=server.tls(user), limit=1)
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        await session.get(PATH)
        before = len(connector._conns)
        renewed = authorities.serving.server("renewed")
        shutil.copy(renewed.key, server.pair.key)
        shutil.copy(renewed.cert, server.pair.cert)
        served = renewed.cert.read_text()
        await eventually(lambda: server.served_certificate() == served)
        answer = await session.get(PATH)

    assert (answer.status, before) == (200, 1)
    assert "certificates were read anew" in server.log()


async def test_a_watch_outlives_a_new_serving_certificate(server, authorities) -> None:
    user = authorities.users.client("alice")
    connector = aiohttp.TCPConnector(ssl=server.tls(user))
    async with (
        aiohttp.ClientSession(server.url, connector=connector) as session,
        session.get(
            f"{PATH}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan"
        ) as watch,
    ):
        await watch.content.readline()
        renewed = authorities.serving.server("renewed")
        shutil.copy(renewed.key, server.pair.key)
        shutil.copy(renewed.cert, server.pair.cert)
        served = renewed.cert.read_text()
        await eventually(lambda: server.served_certificate() == served)

        assert not watch.content.at_eof()


async def test_a_user_of_the_client_ca_file_is_known_until_the_file_changes(
    server, authorities, client_ca_file, tmp_path
) -> None:
    user = authorities.strangers.client("carol")
    first = await accepted(server, user)
    others = Authority(tmp_path, "others-ca")
    client_ca_file.write_text(others.pem)
    await until(server, others.client("dave"), wanted=True)

    assert (first, await accepted(server, user)) == (True, False)


async def test_client_cas_change_while_the_serving_certificate_cannot_be_read(
    server, cluster, authorities, client_ca_file, tmp_path
) -> None:
    old = authorities.strangers.client("carol")
    connector = aiohttp.TCPConnector(ssl=server.tls(old), limit=1)
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        first = (await session.get(PATH)).status
        server.pair.key.unlink()
        of_file, of_cluster = Authority(tmp_path, "of-file"), Authority(tmp_path, "of-cluster")
        client_ca_file.write_text(of_file.pem)
        cluster.set_config(requestheader_client_ca_file="no certificate")
        cluster.set_config(client_ca_file=of_cluster.pem)
        await until(server, of_file.client("dave"), wanted=True)
        await until(server, of_cluster.client("erin"), wanted=True)
        second = (await session.get(PATH)).status

    assert (first, second) == (200, 401)
    assert not await accepted(server, old)
    assert not await accepted(server, authorities.users.client("alice"))


async def test_a_new_requestheader_ca_counts_and_the_old_one_does_not(
    server, cluster, authorities, tmp_path
) -> None:
    claim = {"X-Remote-User": "alice"}
    old = authorities.proxies.client("front-proxy-client")
    first = await accepted(server, old, claim)
    successor = Authority(tmp_path, "successor-ca")
    cluster.set_config(requestheader_client_ca_file=successor.pem)
    await until(server, successor.client("front-proxy-client"), wanted=True, headers=claim)

    assert (first, await accepted(server, old, claim)) == (True, False)


async def test_an_open_connection_loses_what_its_authority_loses(
    server, cluster, authorities, tmp_path
) -> None:
    claim = {"X-Remote-User": "alice"}
    old = authorities.proxies.client("front-proxy-client")
    successor = Authority(tmp_path, "successor-ca")
    connector = aiohttp.TCPConnector(ssl=server.tls(old), limit=1)
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        first = (await session.get(PATH, headers=claim)).status
        cluster.set_config(requestheader_client_ca_file=successor.pem)
        await until(server, successor.client("front-proxy-client"), wanted=True, headers=claim)
        second = (await session.get(PATH, headers=claim)).status

    assert (first, second) == (200, 401)


async def test_another_allowed_name_counts_without_a_restart(server, cluster, authorities) -> None:
    proxy = authorities.proxies.client("aggregator")
    claim = {"X-Remote-User": "alice"}
    first = await accepted(server, proxy, claim)
    cluster.set_config(requestheader_allowed_names='["aggregator"]')

    await until(server, proxy, wanted=True, headers=claim)

    assert not first


async def test_no_allowed_names_are_all_names(server, cluster, authorities) -> None:
    proxy = authorities.proxies.client("whoever")
    cluster.set_config(requestheader_allowed_names="[]")

    await until(server, proxy, wanted=True, headers={"X-Remote-User": "alice"})


async def test_a_malformed_configuration_leaves_the_last_good_one(
    server, cluster, authorities
) -> None:
    cluster.set_config(requestheader_client_ca_file="no certificate")
    await eventually(lambda: "is malformed" in server.log())

    proxy = authorities.proxies.client("front-proxy-client")
    assert await accepted(server, proxy, {"X-Remote-User": "alice"})
