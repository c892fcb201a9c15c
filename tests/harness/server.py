"""A whole server in a process of its own, as operators run it."""

import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp
import requests

from tests.harness.ports import reserved_port

ROOT = Path(__file__).resolve().parent.parent.parent
GROUP_PATH = "/apis/garden.sapcloud.io/v1beta1"
READY_SECONDS = 60.0
STOP_SECONDS = 20.0


class ServerProcess:
    """`python -m quotaapi serve` on a free loopback port, with a data directory of its own.

    Use it as a context manager: the process is ended by its id whatever happens. After `kill9`
    or `stop`, `start` runs it again on the same port and data.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        etcd_servers: str = "",
        tokens: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = ("-m", "quotaapi"),
    ) -> None:
        """`tokens`: bearer token -> user name (a member of system:masters).
        `environment`: variables that the process gets besides the test's own.
        `program`: what Python runs; it takes quotaapi's arguments."""
        self.data_dir = data_dir
        self.port = reserved_port(self)
        self.log_path = data_dir.with_name(data_dir.name + ".log")
        self._program = program
        self._arguments = [*arguments]
        self._environment = {**os.environ, **(environment or {})}
        if etcd_servers:
            self._arguments += ["--etcd-servers", etcd_servers]
        if tokens:
            token_file = data_dir.with_name(data_dir.name + ".tokens.csv")
            token_file.write_text(
                "".join(
                    f'{token},{user},{user},"system:masters"\n' for token, user in tokens.items()
                )
            )
            token_file.chmod(0o600)
            self._arguments += ["--token-auth-file", str(token_file)]
        if "--kubeconfig" not in self._arguments:
            # Where the tests themselves run in a pod, its cluster is none of theirs.
            self._arguments.append("--stand-alone")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "ServerProcess":
        self.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def start(self) -> None:
        """Returns when /readyz answers 200; raises with the log where it does not in time."""
        assert self._process is None, "it runs already"
        self.launch()
        try:
            self.wait_ready()
        except BaseException:
            self.kill9()
            raise

    def launch(self) -> None:
        """Start the process and wait for nothing."""
        command = [
            *(sys.executable, *self._program, "serve"),
            *("--bind-address", "127.0.0.1", "--secure-port", str(self.port)),
            *("--data-dir", str(self.data_dir), *self._arguments),
        ]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            if self.is_ready():
                return
            time.sleep(0.05)  # another process: there is nothing to wait on
        raise AssertionError(f"the server is not ready after {seconds} s; its log:\n{self.log()}")

    def is_ready(self) -> bool:
        authority = self.data_dir / "ca.crt"
        if not authority.exists():
            return False
        try:
            with requests.Session() as session:
                session.trust_env = False
                answer = session.get(f"{self.url}/readyz", verify=str(authority), timeout=2)
        except (requests.RequestException, OSError):  # OSError: ca.crt is being written
            return False
        return answer.status_code == 200

    def kill9(self) -> None:
        """End it as a power cut would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(STOP_SECONDS)

    def stop(self) -> int:
        """As `end`, with SIGTERM."""
        return self.end(signal.SIGTERM)

    def end(self, signum: signal.Signals) -> int:
        """The signal, then the exit code; a process that does not end in time is killed and is an error."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(signum)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)
            raise AssertionError(f"{signum.name} did not end it; its log:\n{self.log()}") from None

    def ssl_context(self, *, admin: bool = True) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.data_dir / "ca.crt"))
        if admin:
            context.load_cert_chain(self.data_dir / "admin.crt", self.data_dir / "admin.key")
        return context

    def client(self, *, connections: int = 100) -> aiohttp.ClientSession:
        """The admin's session; paths are relative to the server. Close it (`async with`)."""
        return aiohttp.ClientSession(
            self.url,
            connector=aiohttp.TCPConnector(ssl=self.ssl_context(), limit=connections),
            timeout=aiohttp.ClientTimeout(total=60),
        )

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
    ) -> requests.Response:
        """One request of the admin's; a relative path lies below the group's version."""
        where = path if path.startswith("/") else f"{GROUP_PATH}/{path}"
        with requests.Session() as session:
            session.trust_env = False  # the environment may name other authorities and proxies
            session.verify = str(self.data_dir / "ca.crt")
            session.cert = (str(self.data_dir / "admin.crt"), str(self.data_dir / "admin.key"))
            return session.request(
                method,
                self.url + where,
                json=body,
                data=data,
                headers=dict(headers or {}),
                timeout=60,
            )
