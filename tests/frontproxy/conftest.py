"""A module's etcd, authorities, cluster and server; every test has a namespace of its own.

The server remembers decisions for minutes, so tests must not ask the same question: the namespace
makes each one's questions its own.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.frontproxy.cluster import Cluster
from tests.frontproxy.scene import Authorities, BehindCluster, kubeconfig
from tests.harness.etcd import running_etcd


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> Authorities:
    return Authorities(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def etcd_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        yield etcd.endpoint


@pytest.fixture(scope="module")
def the_cluster(authorities: Authorities) -> Iterator[Cluster]:
    with Cluster(authorities.kube) as cluster:
        cluster.set_config(**authorities.config())
        cluster.add_namespace("garden")
        yield cluster


@pytest.fixture(scope="module")
def cluster_kubeconfig(
    tmp_path_factory: pytest.TempPathFactory, the_cluster: Cluster, authorities: Authorities
) -> Path:
    return kubeconfig(tmp_path_factory.mktemp("kubeconfig"), the_cluster, authorities.kube)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    authorities: Authorities,
    cluster_kubeconfig: Path,
    etcd_url: str,
) -> Iterator[BehindCluster]:
    with BehindCluster(
        tmp_path_factory.mktemp("server") / "data",
        authorities=authorities,
        kubeconfig=cluster_kubeconfig,
        etcd_servers=etcd_url,
    ) as process:
        yield process


@pytest.fixture
def cluster(the_cluster: Cluster, server: BehindCluster) -> Iterator[Cluster]:
    the_cluster.calm()
    yield the_cluster
    the_cluster.calm()


@pytest.fixture
def namespace(cluster: Cluster) -> str:
    name = f"ns-{uuid4().hex[:12]}"
    cluster.add_namespace(name)
    return name


@pytest.fixture
def quotas(namespace: str) -> str:
    return f"namespaces/{namespace}/quotas"
