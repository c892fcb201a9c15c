"""On what was measured."""

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hack.bench.report import table
from tests.etcd_process import BINARIES

GIB = 2**30


def facts() -> Mapping[str, str]:
    etcd = subprocess.run(
        [next(iter(BINARIES.values())), "--version"], capture_output=True, text=True, check=True
    )
    wrk = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": f"{len(os.sched_getaffinity(0))}, shared by etcd, server and clients",
        "memory": f"{memory / GIB:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "etcd": f"{etcd.stdout.splitlines()[0].rpartition(' ')[2]}, one member, its data on {_disk()}",
        "wrk": " ".join(wrk.stdout.split()[1:2]),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _disk() -> str:
    """The file system where temporary directories are."""
    done = subprocess.run(
        ["stat", "--file-system", "--format=%T", os.environ.get("TMPDIR", "/tmp")],  # noqa: S108
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def described(found: Mapping[str, str]) -> str:
    return table(("", ""), [(name, text) for name, text in found.items()]).replace("---:", "---")
