"""Fixtures for tests with a real etcd: one process per binary and session, a prefix per test."""

import itertools
from collections.abc import Iterator

import pytest

from tests.etcd_process import BINARIES, EtcdProcess

EACH_BINARY = [pytest.param(name, id=name) for name in sorted(BINARIES)]
"""Without an etcd on the machine nothing is parametrized, and pytest skips these tests."""

_numbers = itertools.count()


@pytest.fixture(scope="session")
def shared_etcds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, EtcdProcess]]:
    """Started when first asked for by `etcd_process`; not to be stopped by a test."""
    started: dict[str, EtcdProcess] = {}
    yield started
    for process in started.values():
        process.stop()


@pytest.fixture(params=EACH_BINARY)
def etcd_process(
    request: pytest.FixtureRequest,
    shared_etcds: dict[str, EtcdProcess],
    tmp_path_factory: pytest.TempPathFactory,
) -> EtcdProcess:
    """A running etcd that other tests use, too."""
    name = request.param
    if name not in shared_etcds:
        process = EtcdProcess(tmp_path_factory.mktemp(name), binary=BINARIES[name])
        shared_etcds[name] = process
        process.start()
    return shared_etcds[name]


@pytest.fixture
def prefix() -> str:
    """A place in a shared etcd that no other test uses."""
    return f"/test-{next(_numbers)}"


@pytest.fixture(params=EACH_BINARY)
def own_etcd(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EtcdProcess]:
    """A running etcd of the test's own, to be killed, paused and compacted."""
    process = EtcdProcess(tmp_path_factory.mktemp("etcd"), binary=BINARIES[request.param])
    try:
        process.start()
        yield process
    finally:
        process.stop()
