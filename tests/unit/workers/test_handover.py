"""What the supervisor hands to a worker."""

import pytest

from quotaapi.config import Config, parse
from quotaapi.server.handover import Handover, received, share


def test_a_worker_reads_what_the_supervisor_wrote() -> None:
    handover = Handover(number=1, channel=7, etcd="http://127.0.0.1:2379")

    assert received({"HOME": "/", **handover.environment()}) == handover


def test_a_process_that_no_supervisor_started_has_none() -> None:
    assert received({"HOME": "/"}) is None


@pytest.mark.parametrize(
    ("workers", "reads", "writes"), [(1, 400, 200), (2, 200, 100), (3, 134, 67), (500, 1, 1)]
)
def test_what_is_limited_per_server_is_divided_and_rounded_up(workers, reads, writes) -> None:
    shared = share(Config(workers=workers), Handover(0, 3))

    assert shared.max_requests_inflight == reads
    assert shared.max_mutating_requests_inflight == writes


def test_the_supervisors_etcd_is_used_with_the_limits_of_an_embedded_one() -> None:
    config = parse(["--workers", "2"])

    shared = share(config, Handover(0, 3, "http://127.0.0.1:4"))

    assert shared.etcd_servers == ("http://127.0.0.1:4",)
    assert shared.etcd_max_txn_ops == config.etcd_max_txn_ops == 1000


def test_etcd_servers_of_the_flags_stay() -> None:
    config = parse(["--workers", "2", "--etcd-servers", "http://a:1"])

    assert share(config, Handover(0, 3)).etcd_servers == ("http://a:1",)
