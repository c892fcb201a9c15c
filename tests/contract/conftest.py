"""The implementations that the storage contract is run against."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.contract.stacks import Stack, etcd_stack, memory_stack
from tests.etcd_fixtures import own_etcd, prefix, shared_etcds  # noqa: F401  # fixtures
from tests.etcd_process import BINARIES, EtcdProcess


@pytest_asyncio.fixture(params=[*sorted(BINARIES), "memory"])
async def stack(
    request: pytest.FixtureRequest,
    shared_etcds: dict[str, EtcdProcess],  # noqa: F811
    prefix: str,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Stack]:
    """A backend and its commit, empty under its prefix."""
    name = request.param
    if name == "memory":
        async with memory_stack() as stack:
            yield stack
        return
    if name not in shared_etcds:
        process = EtcdProcess(tmp_path_factory.mktemp(name), binary=BINARIES[name])
        shared_etcds[name] = process
        process.start()
    async with etcd_stack(shared_etcds[name].endpoint, prefix=prefix) as etcd:
        yield etcd.contract
