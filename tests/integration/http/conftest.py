"""The HTTP layer on a real TLS socket over a registry in memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.http_server import HttpServer, http_server


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http") / "data"


@pytest_asyncio.fixture
async def server(certificates: Path) -> AsyncIterator[HttpServer]:
    async with http_server(certificates) as running:
        yield running
