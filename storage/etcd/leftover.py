"""The etcd that the id in a file names: whether it runs, and ending one that outlived its server."""

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_LOOKS = 10
_LOOK_SECONDS = 0.05

_log = logging.getLogger(__name__)


async def end(
    pid_path: Path, data_argument: str, *, grace_seconds: float = 1.0, kill_seconds: float = 10.0
) -> None:
    """End the process recorded in `pid_path`, if it runs and has `data_argument` among its
    arguments. Raises TimeoutError where even SIGKILL does not end it in time.

    It is left a moment first: the kernel may be ending it already.
    """
    pid = _recorded(pid_path)
    try:
        handle = os.pidfd_open(pid)
    except (OSError, ValueError):
        return
    try:
        # Checked after the handle is open: the handle cannot come to mean another process.
        if data_argument.encode() not in await _arguments(pid):
            return
        _log.warning("ending etcd %d, left over on this data directory", pid)
        with suppress(TimeoutError):
            await _gone(handle, grace_seconds)
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        await _gone(handle, kill_seconds)
    finally:
        os.close(handle)


def is_running(pid_path: Path, data_argument: str) -> bool:
    """Whether the process recorded in `pid_path` runs with `data_argument` among its arguments."""
    return data_argument.encode() in _command_line(_recorded(pid_path)).split(b"\0")


def _recorded(pid_path: Path) -> int:
    """The process id in the file, or one that no process has."""
    try:
        return int(pid_path.read_text())
    except (OSError, ValueError):
        return -1


async def _arguments(pid: int) -> Sequence[bytes]:
    """A process's command line: empty for one that has ended, and briefly for one that just starts."""
    for _ in range(_LOOKS):
        found = _command_line(pid)
        if found:
            return found.split(b"\0")
        await asyncio.sleep(_LOOK_SECONDS)
    return ()


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def _gone(handle: int, seconds: float) -> None:
    """Wait for a process that need not be a child. Raises TimeoutError."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    finally:
        loop.remove_reader(handle)
