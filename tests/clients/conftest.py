"""One server for all tests of a worker; each test has a namespace of its own in it."""

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl, minor_version
from tests.harness.etcd import running_etcd
from tests.harness.server import ServerProcess

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def etcd_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        yield etcd.endpoint


@pytest.fixture(scope="session")
def server(etcd_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("server") / "data"
    with ServerProcess(directory, etcd_servers=etcd_url) as process:
        yield process


@pytest.fixture
def namespace() -> str:
    return f"space-{next(_numbers)}"


@pytest.fixture(scope="session")
def kubectl_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kubectl")


@pytest.fixture(scope="session")
def kubectl_minor() -> int:
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl")
    return minor_version()


@pytest.fixture
def kubectl(
    server: ServerProcess, kubectl_home: Path, kubectl_minor: int, namespace: str
) -> Kubectl:
    return Kubectl(server, kubectl_home, namespace, kubectl_minor)
