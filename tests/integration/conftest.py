"""An etcd and a server per module; what a test made is gone before the next one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.etcd_process import EtcdProcess
from tests.harness.api import Api
from tests.harness.etcd import running_etcd
from tests.harness.server import ServerProcess

EMPTYING_ORDER = (
    "Shoot",
    "CrossSecretBinding",
    "PrivateSecretBinding",
    "SecretBinding",
    "Quota",
    "ShootLimitRange",
    "CloudProfile",
)
"""Users before what they use."""


@pytest.fixture(scope="module")
def etcd_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        yield etcd.endpoint


@pytest.fixture(scope="module")
def server(etcd_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("server") / "data"
    with ServerProcess(directory, etcd_servers=etcd_url) as process:
        yield process


@pytest_asyncio.fixture
async def api(server: ServerProcess) -> AsyncIterator[Api]:
    """The admin's client on the module's server."""
    async with server.client() as session:
        client = Api(session)
        yield client
        await empty(client)


async def empty(api: Api) -> None:
    for kind in EMPTYING_ORDER:
        await asyncio.gather(*(api.delete_object(obj) for obj in await api.items(kind)))


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[EtcdProcess]:
    """An etcd that the test may kill and start again."""
    with running_etcd(tmp_path / "etcd") as etcd:
        yield etcd


@pytest.fixture
def own_etcd_url(own_etcd: EtcdProcess) -> str:
    return own_etcd.endpoint
