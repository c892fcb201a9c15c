"""The client of kube-apiserver: deadlines, broken connections, credentials that change."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from kubernetes.aio.config import incluster_config

from quotaapi.auth.interface import ClusterAccessError
from quotaapi.auth.kube import RELOAD_SECONDS, KubeClient, KubeUnavailable
from tests.frontproxy.cluster import TOKEN, Cluster
from tests.frontproxy.scene import Authorities, kubeconfig

pytestmark = pytest.mark.integration

NAMESPACES = "/api/v1/namespaces"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def cluster(authorities: Authorities) -> Iterator[Cluster]:
    with Cluster(authorities.kube) as cluster:
        cluster.add_namespace("garden")
        yield cluster


@pytest.fixture
def config(tmp_path: Path, cluster: Cluster, authorities: Authorities) -> Path:
    return kubeconfig(tmp_path, cluster, authorities.kube)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture
async def client(config: Path, clock: Clock) -> AsyncIterator[KubeClient]:
    client = await KubeClient.connect(config, clock)
    yield client
    await client.close()


async def test_objects_are_plain(client) -> None:
    answer = await client.request("GET", f"{NAMESPACES}/garden")

    assert (answer.ok, answer.body["metadata"]["name"]) == (True, "garden")


async def test_a_missing_object_is_an_answer(client) -> None:
    answer = await client.request("GET", f"{NAMESPACES}/nowhere")

    assert (answer.ok, answer.message) == (False, "HTTP 404: namespaces not found")


async def test_a_slow_cluster_is_given_up(client, cluster) -> None:
    cluster.hold.set()

    with pytest.raises(KubeUnavailable, match=r"no answer within 0\.2 s"):
        await client.request("GET", NAMESPACES, timeout_seconds=0.2)


async def test_a_cluster_that_is_away_is_unavailable(client, cluster) -> None:
    cluster.go()

    with pytest.raises(KubeUnavailable):
        await client.request("GET", NAMESPACES)
    cluster.come()


async def test_a_connection_that_ended_meanwhile_is_no_fault(client, cluster) -> None:
    await client.request("GET", NAMESPACES)
    cluster.go()
    cluster.come()

    assert (await client.request("GET", NAMESPACES)).ok


async def test_credentials_that_are_refused_are_read_anew(client, cluster, config, clock) -> None:
    await client.request("GET", NAMESPACES)
    config.write_text(config.read_text().replace(TOKEN, "rotated"))
    cluster.accepts = {"Bearer rotated"}
    clock.now = RELOAD_SECONDS

    assert (await client.request("GET", NAMESPACES)).ok


async def test_credentials_that_stay_refused_are_not_read_all_the_time(
    client, cluster, config, clock
) -> None:
    cluster.accepts = set()
    clock.now = RELOAD_SECONDS
    for _ in range(3):
        with pytest.raises(KubeUnavailable, match="401"):
            await client.request("GET", NAMESPACES)

    assert cluster.asked["namespaces"] == 4


async def test_a_watch_delivers_until_the_cluster_goes(client, cluster) -> None:
    events = client.watch(
        NAMESPACES, query={"resourceVersion": "0"}, accept="application/json", seconds=30
    )
    first = await anext(events)
    cluster.add_namespace("other")
    second = await anext(events)
    await asyncio.to_thread(cluster.go)
    rest = [event async for event in events]
    cluster.come()

    names = [event["object"]["metadata"]["name"] for event in (first, second)]
    assert (names, rest) == (["garden", "other"], [])


async def test_a_pod_uses_its_service_account(
    cluster, authorities, tmp_path, monkeypatch, clock
) -> None:
    token = tmp_path / "token"
    token.write_text("of-the-pod")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(cluster.port))
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authorities.kube.path))

    client = await KubeClient.connect(None, clock)
    await client.request("GET", NAMESPACES)
    await client.close()

    assert {text.lower() for text in cluster.credentials} == {"bearer of-the-pod"}


@pytest.mark.parametrize("content", ["", "no: kubeconfig", "{"])
async def test_what_is_no_kubeconfig_is_told_of(tmp_path, clock, content) -> None:
    path = tmp_path / "config"
    path.write_text(content)

    with pytest.raises(ClusterAccessError, match=str(path)):
        await KubeClient.connect(path, clock)
