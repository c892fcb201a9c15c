"""One real cluster for all of these tests, with the group served through its kube-apiserver.

KUBE_BIN names a folder with kube-apiserver and kube-controller-manager; kubectl is on the PATH.
"""

import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from apis.garden.v1beta1.register import GROUP
from tests.builders import a_binding, a_profile, a_quota
from tests.e2e.cluster import RealCluster
from tests.e2e.people import a_core
from tests.frontproxy.pki import Pair
from tests.harness.etcd import running_etcd
from tests.harness.ports import free_port
from tests.harness.server import ROOT, ServerProcess

BINARIES = ("kube-apiserver", "kube-controller-manager")


@pytest.fixture(scope="session")
def kube_bin() -> Path:
    folder = os.environ.get("KUBE_BIN", "")
    if not folder:
        pytest.skip("KUBE_BIN names no folder with kube-apiserver and kube-controller-manager")
    missing = [name for name in BINARIES if not Path(folder, name).is_file()]
    if missing or shutil.which("kubectl") is None:
        pytest.skip(f"missing: {', '.join([*missing, 'kubectl'][: len(missing) or 1])}")
    return Path(folder)


class Served(ServerProcess):
    """A server as the cluster's service account, with the certificate that `register` made."""

    def __init__(
        self, directory: Path, *, port: int, kubeconfig: Path, etcd_url: str, pair: Pair
    ) -> None:
        super().__init__(
            directory,
            etcd_servers=etcd_url,
            arguments=(
                *("--kubeconfig", str(kubeconfig)),
                *("--tls-cert-file", str(pair.cert), "--tls-private-key-file", str(pair.key)),
            ),
        )
        self.port = port

    def is_ready(self) -> bool:
        return "[-]" not in self.log() and "serves https" in self.log()


@dataclass(frozen=True, slots=True)
class World:
    cluster: RealCluster
    server: Served


def quotaapi(cluster: RealCluster, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "quotaapi", *arguments, "--kubeconfig", str(cluster.admin)],
        cwd=ROOT,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="session")
def world(kube_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("e2e")
    with (
        running_etcd(directory / "etcd") as etcd,
        RealCluster(kube_bin, directory / "cluster", etcd.endpoint) as cluster,
    ):
        port = free_port()
        quotaapi(cluster, "register", "--external-name", "localhost", "--port", str(port))
        token = cluster.kubectl("create", "token", "quotaapi", "-n", "quotaapi").stdout.decode()
        config = cluster.kubeconfig("quotaapi", token=token.strip())
        pair = _serving_pair(cluster, directory)
        server = Served(
            directory / "data", port=port, kubeconfig=config, etcd_url=etcd.endpoint, pair=pair
        )
        with server:
            for holds in (_available, _discovered, _aggregated):
                cluster.wait(partial(holds, cluster))
            yield World(cluster, server)


def _serving_pair(cluster: RealCluster, directory: Path) -> Pair:
    data = cluster.get("secret", "quotaapi-serving", "-n", "quotaapi")["data"]
    pair = Pair(directory / "tls.crt", directory / "tls.key")
    pair.cert.write_bytes(b64decode(data["tls.crt"]))
    pair.key.write_bytes(b64decode(data["tls.key"]))
    return pair


def _available(cluster: RealCluster) -> bool:
    status = cluster.get("apiservice", f"v1beta1.{GROUP}").get("status", {})
    return any(
        condition["type"] == "Available" and condition["status"] == "True"
        for condition in status.get("conditions", ())
    )


def _discovered(cluster: RealCluster) -> bool:
    """Discovery and OpenAPI are gathered by kube-apiserver on its own time."""
    names = cluster.kubectl("api-resources", f"--api-group={GROUP}", "-o", "name", check=False)
    explained = cluster.kubectl("explain", f"shoots.{GROUP}", check=False)
    return b"shoots" in names.stdout and explained.returncode == 0


def _aggregated(cluster: RealCluster) -> bool:
    """A controller adds the registered roles to the cluster's, one after the other."""
    found = (cluster.get("clusterrole", role)["rules"] for role in ("view", "edit", "admin"))
    return all(any(GROUP in rule.get("apiGroups", ()) for rule in rules) for rules in found)


@pytest.fixture
def cluster(world: World) -> RealCluster:
    return world.cluster


@pytest.fixture
def server(world: World) -> Served:
    return world.server


@pytest.fixture
def namespace(cluster: RealCluster) -> Iterator[str]:
    """A project whose binding to a sponsor's account has a quota of 20 cpus."""
    name = f"garden-{uuid4().hex[:8]}"
    cluster.apply(a_core("Namespace", name), a_core("Secret", "account", name), a_profile())
    cluster.apply(
        a_quota(namespace=name),
        a_binding(namespace=name, quotas=["quota"], quota_namespace=name),
    )
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false", check=False)
