"""What a worker is told by the supervisor that starts it, beside the server's own command line.

It is the value of QUOTAAPI_WORKER, JSON, and nobody else's to set: the number of an inherited
descriptor means something in one process only. The command line stays the operator's, so that
`ps` shows what was asked for.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final

from apis.meta import codec
from quotaapi.config import Config

VARIABLE: Final = "QUOTAAPI_WORKER"


@dataclass(frozen=True, slots=True)
class Handover:
    """`number` counts from 0. `channel` is the descriptor of this worker's end (server.channel).
    `etcd` is where the supervisor's embedded etcd is; empty: the etcd servers of the flags."""

    number: int
    channel: int
    etcd: str = ""

    def environment(self) -> Mapping[str, str]:
        return {VARIABLE: codec.encode(asdict(self)).decode()}


def received(environ: Mapping[str, str]) -> Handover | None:
    """None in every process that no supervisor started."""
    text = environ.get(VARIABLE, "")
    return Handover(**codec.decode_json(text.encode()).value) if text else None


def share(config: Config, handover: Handover) -> Config:
    """The configuration of one worker: what is limited per server is divided, rounded up."""
    return replace(
        config,
        etcd_servers=(handover.etcd,) if handover.etcd else config.etcd_servers,
        max_requests_inflight=_part(config.max_requests_inflight, config.workers),
        max_mutating_requests_inflight=_part(config.max_mutating_requests_inflight, config.workers),
    )


def _part(limit: int, workers: int) -> int:
    return -(-limit // workers)
