"""The processes of a server with several workers, and its numbers."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import requests

from tests.harness.server import ServerProcess

Numbers = dict[str, float]


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers(server: ServerProcess) -> list[int]:
    return [pid for pid in children(server.pid) if is_worker(pid)]


def is_worker(pid: int) -> bool:
    """One that has ended is none."""
    try:
        return b"QUOTAAPI_WORKER=" in Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


class Ends:
    """Waits for processes that are no children of the test's."""

    def __init__(self, pids: Iterable[int]) -> None:
        """All of them are alive."""
        self._handles = {pid: os.pidfd_open(pid) for pid in pids}

    def wait(self, seconds: float) -> set[int]:
        """Those that are alive when the time is over; they are killed, so that none is left."""
        deadline = time.monotonic() + seconds
        alive = set(self._handles)
        for pid, handle in self._handles.items():
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            if poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                alive.discard(pid)
            else:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        return alive


def numbers(server: ServerProcess, *, timeout: float = 20.0) -> Numbers:
    with requests.Session() as session:
        session.trust_env = False
        answer = session.get(
            f"{server.url}/metrics",
            verify=str(server.data_dir / "ca.crt"),
            cert=(str(server.data_dir / "admin.crt"), str(server.data_dir / "admin.key")),
            timeout=timeout,
        )
    assert answer.status_code == 200, answer.text
    lines = (line for line in answer.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def numbers_when(
    server: ServerProcess, holds: Callable[[Numbers], bool], seconds: float
) -> Numbers:
    """The first ones of which it holds; each scrape is a round through all workers.

    A scrape that is handed to a worker that hangs is given up, and counts as one that it holds not of.
    """
    deadline = time.monotonic() + seconds
    found: Numbers = {}
    while True:
        with suppress(requests.Timeout):
            found = numbers(server, timeout=5.0)
            if holds(found):
                return found
        assert time.monotonic() < deadline, (found, server.log())
        time.sleep(0.05)  # another process: there is nothing to wait on


def all_ready(found: Numbers) -> bool:
    return found["quotaapi_workers_ready"] == found["quotaapi_workers"]
