"""One server per module, with short time-outs and nothing that writes by itself."""

from collections.abc import Iterator

import pytest

from tests.fuzz.target import Target
from tests.harness.etcd import running_etcd
from tests.harness.server import ServerProcess

QUIET = ("--etcd-compaction-interval", "1h", "--resync-interval", "1h")
SHORT = ("--request-timeout", "5s", "--min-request-timeout", "1s")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with (
        running_etcd(tmp_path_factory.mktemp("etcd")) as etcd,
        ServerProcess(
            tmp_path_factory.mktemp("server") / "data",
            etcd_servers=etcd.endpoint,
            arguments=(*QUIET, *SHORT),
        ) as server,
    ):
        target = Target(server, etcd.endpoint, server.ssl_context())
        target.seed()
        yield target
        target.close()
