"""`quotaapi register` and `unregister`, as commands."""

import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from quotaapi.registration.objects import Place, path_of, registration
from tests.frontproxy.cluster import Cluster
from tests.frontproxy.scene import Authorities, kubeconfig
from tests.harness.server import ROOT

pytestmark = pytest.mark.integration

SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.garden.sapcloud.io"
SECRET = "/api/v1/namespaces/quotaapi/secrets/quotaapi-serving"


@pytest.fixture
def cluster(authorities: Authorities) -> Iterator[Cluster]:
    with Cluster(authorities.kube) as cluster:
        yield cluster


@pytest.fixture
def config(tmp_path: Path, cluster: Cluster, authorities: Authorities) -> Path:
    return kubeconfig(tmp_path, cluster, authorities.kube)


def run(config: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "quotaapi", *arguments, "--kubeconfig", str(config)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, timeout=60, check=False, text=True
    )


def test_everything_is_applied_and_the_service_trusts_what_was_made(cluster, config) -> None:
    done = run(config, "register")

    assert done.returncode == 0, done.stderr
    paths = {path_of(obj) for obj in registration(Place(), b"")}
    assert set(cluster.applied) == {*paths, SECRET}
    secret = cluster.applied[SECRET]["data"]
    assert cluster.applied[SERVICE]["spec"]["caBundle"] == secret["ca.crt"]


def test_registering_again_changes_nothing(cluster, config) -> None:
    run(config, "register")
    before = dict(cluster.applied)

    done = run(config, "register")

    assert (done.returncode, cluster.applied) == (0, before)


def test_a_server_with_another_name_gets_a_new_certificate_and_both_are_trusted(
    cluster, config
) -> None:
    run(config, "register")
    old = b64decode(cluster.applied[SECRET]["data"]["ca.crt"])

    run(config, "register", "--external-name", "outside.example.org", "--port", "8443")

    bundle = b64decode(cluster.applied[SERVICE]["spec"]["caBundle"])
    assert bundle.endswith(old)
    assert bundle.count(b"BEGIN CERTIFICATE") == 2
    assert cluster.applied[SERVICE]["spec"]["service"]["port"] == 8443


def test_unregistering_leaves_the_namespace_alone(cluster, config) -> None:
    run(config, "register")

    done = run(config, "unregister")

    assert done.returncode == 0, done.stderr
    assert set(cluster.applied) == {"/api/v1/namespaces/quotaapi"}


def test_unregistering_what_is_not_there_is_no_fault(config) -> None:
    done = run(config, "unregister")

    assert done.returncode == 0
    assert "was not there" in done.stdout


def test_a_cluster_that_is_away_is_told_of_without_a_trace(cluster, config) -> None:
    cluster.go()

    done = run(config, "register")

    cluster.come()
    assert done.returncode == 1
    assert done.stderr.startswith("quotaapi register: ")
    assert "Traceback" not in done.stderr
