"""A real kube-apiserver and kube-controller-manager, over an etcd, on loopback ports.

No kubelet and no scheduler: nothing runs in this cluster but its API, its garbage collector, its
namespace controller and its quota controller, which are what is to be seen.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from apis.meta.codec import decode_json, encode_yaml
from tests.frontproxy.pki import Authority, Pair
from tests.harness.ports import free_port

Object = dict[str, Any]
START_SECONDS = 120.0


class RealCluster:
    """Use it as a context manager: the processes are ended by their ids whatever happens."""

    def __init__(self, binaries: Path, directory: Path, etcd_url: str) -> None:
        self._binaries = binaries
        self._directory = directory
        self._etcd_url = etcd_url
        self.port = free_port()
        self.users = Authority(directory, "users-ca")
        self.proxies = Authority(directory, "proxies-ca")
        self.kube = Authority(directory, "kube-ca")
        self._serving = self.kube.server("kube-apiserver")
        self._accounts = _account_keys(directory)
        self.admin = self.kubeconfig("admin", self.users.client("admin", "system:masters"))
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def kubeconfig(self, name: str, pair: Pair | None = None, *, token: str = "") -> Path:
        user: Object = {"token": token}
        if pair is not None:
            user = {"client-certificate": str(pair.cert), "client-key": str(pair.key)}
        cluster = {"server": self.url, "certificate-authority": str(self.kube.path)}
        path = self._directory / f"{name}.kubeconfig"
        path.write_bytes(
            encode_yaml(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "c", "cluster": cluster}],
                    "users": [{"name": "u", "user": user}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )
        return path

    def __enter__(self) -> "RealCluster":
        try:
            self._run("kube-apiserver", self._api_server())
            self.wait(lambda: self.kubectl("get", "--raw", "/readyz", check=False).returncode == 0)
            self._run("kube-controller-manager", self._controllers())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_fault: object) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def log(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text(errors="replace")

    def wait(self, holds: Callable[[], bool], seconds: float = START_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, "it did not come about in time"
            time.sleep(0.2)  # other processes are at work

    def kubectl(
        self, *arguments: str, config: Path | None = None, stdin: bytes = b"", check: bool = True
    ) -> "subprocess.CompletedProcess[bytes]":
        done = subprocess.run(
            ["kubectl", "--kubeconfig", str(config or self.admin), *arguments],
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
            env={**os.environ, "HOME": str(self._directory)},
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done

    def get(self, *arguments: str) -> Object:
        found: Object = decode_json(self.kubectl("get", "-o", "json", *arguments).stdout).value
        return found

    def apply(self, *objects: Object) -> None:
        for obj in objects:
            self.kubectl("apply", "-f", "-", stdin=encode_yaml(obj))

    def _run(self, name: str, arguments: Sequence[str]) -> None:
        with (self._directory / f"{name}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(self._binaries / name), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )

    def _api_server(self) -> Sequence[str]:
        proxy = self.proxies.client("front-proxy-client")
        return (
            f"--etcd-servers={self._etcd_url}",
            "--etcd-prefix=/kube",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._serving.cert}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={self.users.path}",
            f"--requestheader-client-ca-file={self.proxies.path}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={proxy.cert}",
            f"--proxy-client-key-file={proxy.key}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._accounts.cert}",
            f"--service-account-signing-key-file={self._accounts.key}",
            "--service-cluster-ip-range=10.0.0.0/24",
        )

    def _controllers(self) -> Sequence[str]:
        return (
            f"--kubeconfig={self.admin}",
            f"--authentication-kubeconfig={self.admin}",
            f"--authorization-kubeconfig={self.admin}",
            f"--service-account-private-key-file={self._accounts.key}",
            f"--root-ca-file={self.kube.path}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            "--resource-quota-sync-period=10s",
        )


def _account_keys(directory: Path) -> Pair:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pair = Pair(directory / "accounts.pub", directory / "accounts.key")
    pair.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    pair.cert.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return pair
