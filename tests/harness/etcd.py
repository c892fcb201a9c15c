"""What etcd itself says of the work it was given, and whether the accounts in it are exact."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from apis.meta.codec import decode_json
from tests.etcd_process import EtcdProcess
from tests.harness.server import ROOT

AUDIT_SECONDS = 120


@contextmanager
def running_etcd(directory: Path) -> Iterator[EtcdProcess]:
    """An etcd that is ended whatever happens; it may be killed and started in between."""
    etcd = EtcdProcess(directory)
    try:
        etcd.start()
        yield etcd
    finally:
        etcd.stop()


@dataclass(frozen=True, slots=True)
class Counters:
    """`proposals`: everything that went through raft, a transaction whose compare failed included.
    `revision`: transactions that wrote something."""

    proposals: int
    revision: int

    def __sub__(self, other: "Counters") -> "Counters":
        return Counters(self.proposals - other.proposals, self.revision - other.revision)


def counters(etcd_url: str) -> Counters:
    with requests.Session() as session:
        session.trust_env = False
        metrics = session.get(f"{etcd_url}/metrics", timeout=10).text
        # Key "\0": any read answers with the revision.
        answer = session.post(f"{etcd_url}/v3/kv/range", json={"key": "AA=="}, timeout=10).json()
    proposals = next(
        float(line.split()[1])
        for line in metrics.splitlines()
        if line.startswith("etcd_server_proposals_committed_total ")
    )
    return Counters(int(proposals), int(answer["header"]["revision"]))


def assert_exact(
    etcd_url: str, *arguments: str, program: Sequence[str] = ("-m", "quotaapi")
) -> dict[str, int]:
    """Run `quotaapi audit` over all of etcd's history; answers its statistics.

    `program`: what Python runs; it takes quotaapi's arguments.
    """
    command = [sys.executable, *program, "audit", "--etcd-servers", etcd_url]
    done = subprocess.run(
        [*command, "--growth", "--json", *arguments],
        cwd=ROOT,
        capture_output=True,
        timeout=AUDIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout.decode() + done.stderr.decode())[:4000]
    found: dict[str, int] = decode_json(done.stdout).value
    return found
