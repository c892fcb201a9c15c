"""`quotaapi register` and `unregister`, as commands."""

import asyncio
import ssl
import subprocess
import sys
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quotaapi.registration.objects import Place, path_of, registration
from tests.frontproxy.cluster import Cluster
from tests.frontproxy.pki import Pair
from tests.frontproxy.scene import Authorities, kubeconfig
from tests.harness.ports import free_port
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


@contextmanager
def listening(pair: Pair) -> Iterator[int]:
    """A server that shows a certificate, and its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(
        asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


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

    *objects, last = done.stdout.splitlines()
    assert (done.returncode, cluster.applied) == (0, before)
    assert {line.split()[-1] for line in objects} == {"unchanged"}
    assert last.startswith("registered v1beta1.garden.sapcloud.io")


def test_what_is_created_and_what_is_configured_is_told(config) -> None:
    first = run(config, "register").stdout.splitlines()
    moved = run(config, "register", "--external-name", "example.org").stdout.splitlines()

    assert "Service quotaapi/quotaapi created" in first
    assert "Service quotaapi/quotaapi configured" in moved
    assert "ClusterRole quotaapi:view unchanged" in moved


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
    assert {line.split(" ", 2)[2] for line in done.stdout.splitlines()} == {"not found"}


def test_a_cluster_that_is_away_is_told_of_without_a_trace(cluster, config) -> None:
    cluster.go()

    done = run(config, "register")

    cluster.come()
    assert done.returncode == 1
    assert done.stderr.startswith(f"quotaapi register: {cluster.url}, which {config} names: ")
    assert "Traceback" not in done.stderr


def test_a_server_that_is_no_kube_apiserver_is_named_with_what_it_answered(cluster, config) -> None:
    cluster.aggregates = False

    done = run(config, "register")

    assert (done.returncode, cluster.applied) == (1, {})
    assert f"{cluster.url}, which {config} names, is no kube-apiserver" in done.stderr
    assert "GET /apis/apiregistration.k8s.io/v1 it answered HTTP 404" in done.stderr
    assert "--kubeconfig" in done.stderr


@pytest.mark.parametrize("content", ["", "nothing but words", "apiVersion: v1\nkind: Config\n"])
def test_what_is_no_kubeconfig_is_named(tmp_path, content) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)

    done = run(path, "register")

    assert done.returncode == 1
    assert done.stderr.startswith(f"quotaapi register: {path}")
    assert "--kubeconfig" in done.stderr


class TestOwnCertificate:
    """`--ca-file`: nothing is changed where kube-apiserver will not accept the certificate."""

    def serving_secret(self, cluster: Cluster, config: Path, pair: Pair) -> None:
        run(config, "register")
        data = cluster.applied[SECRET]["data"]
        data["tls.crt"] = b64encode(pair.cert.read_bytes()).decode()
        data["tls.key"] = b64encode(pair.key.read_bytes()).decode()

    def test_a_good_one_is_registered(self, cluster, config, authorities) -> None:
        self.serving_secret(cluster, config, authorities.serving.server("good"))

        done = run(config, "register", "--ca-file", str(authorities.serving.path))

        assert done.returncode == 0, done.stderr
        bundle = b64decode(cluster.applied[SERVICE]["spec"]["caBundle"])
        assert bundle == authorities.serving.path.read_bytes()

    def test_another_name_is_refused_and_the_right_one_told(
        self, cluster, config, authorities
    ) -> None:
        wrong = authorities.serving.server("wrong", ["quota.example.org"])
        self.serving_secret(cluster, config, wrong)
        before = dict(cluster.applied)

        done = run(config, "register", "--ca-file", str(authorities.serving.path))

        assert (done.returncode, cluster.applied) == (1, before)
        assert "valid for quota.example.org" in done.stderr
        assert "kube-apiserver asks for quotaapi.quotaapi.svc" in done.stderr

    def test_another_authority_is_refused(self, cluster, config, authorities) -> None:
        self.serving_secret(cluster, config, authorities.serving.server("good"))

        done = run(config, "register", "--ca-file", str(authorities.strangers.path))

        assert done.returncode == 1
        assert "is not signed by one of the given CAs" in done.stderr

    def test_before_there_is_one_the_name_is_told(self, cluster, config, authorities) -> None:
        done = run(config, "register", "--ca-file", str(authorities.serving.path))

        assert done.returncode == 0, done.stderr
        assert "valid for quotaapi.quotaapi.svc" in done.stdout

    @pytest.mark.parametrize(
        ("names", "signed", "told"),
        [
            (("quotaapi.quotaapi.svc",), True, ""),
            (("*.quotaapi.svc", "localhost"), True, ""),
            (("localhost",), True, "valid for localhost, 127.0.0.1, and kube-apiserver asks for"),
            (("quotaapi.quotaapi.svc",), False, "is not accepted with the given CAs"),
        ],
    )
    def test_a_server_outside_is_asked_for_its_own(
        self, cluster, config, authorities, names, signed, told
    ) -> None:
        pair = authorities.serving.server("outside", names)
        trusted = authorities.serving if signed else authorities.strangers
        with listening(pair) as port:
            done = run(
                config, "register", "--external-name", "127.0.0.1", "--port", str(port),
                "--ca-file", str(trusted.path),
            )  # fmt: skip

        assert done.returncode == (1 if told else 0), done.stderr
        assert told in done.stderr
        assert (SERVICE in cluster.applied) is not bool(told)

    def test_a_server_outside_that_is_not_there_yet_is_told_the_name(
        self, config, authorities
    ) -> None:
        done = run(
            config, "register", "--external-name", "127.0.0.1", "--port", str(free_port()),
            "--ca-file", str(authorities.serving.path),
        )  # fmt: skip

        assert done.returncode == 0, done.stderr
        assert "does not answer yet" in done.stdout
        assert "valid for quotaapi.quotaapi.svc" in done.stdout
