"""One etcd and one server for the tests of a module that need no fault of theirs."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.builders import a_profile
from tests.harness.api import Api
from tests.harness.etcd import assert_exact, running_etcd
from tests.harness.server import ServerProcess


@pytest.fixture(scope="module")
def etcd_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_etcd(tmp_path_factory.mktemp("etcd")) as etcd:
        yield etcd.endpoint


@pytest.fixture(scope="module")
def server(etcd_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Every revision that its tests made is audited at the end."""
    directory = tmp_path_factory.mktemp("server") / "data"
    with ServerProcess(directory, etcd_servers=etcd_url) as process:
        assert process.request("POST", "cloudprofiles", a_profile()).status_code == 201
        yield process
        assert "Traceback" not in process.log(), process.log()[-5000:]
    assert_exact(etcd_url)


@pytest_asyncio.fixture
async def api(server: ServerProcess) -> AsyncIterator[Api]:
    async with server.client() as session:
        yield Api(session)
