"""A cluster's stand-in, its authorities, and servers behind it."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import requests

from apis.meta.codec import encode_yaml
from tests.frontproxy.cluster import TOKEN, Cluster
from tests.frontproxy.pki import Authority, Pair
from tests.harness.ports import free_port
from tests.harness.server import GROUP_PATH, ROOT, ServerProcess

USER = "alice"
WAIT_SECONDS = 15.0


class Authorities:
    """Each signs for one purpose: that is what is to be told apart."""

    def __init__(self, directory: Path) -> None:
        self.serving = Authority(directory, "serving-ca")
        self.users = Authority(directory, "users-ca")
        self.proxies = Authority(directory, "proxies-ca")
        self.kube = Authority(directory, "kube-ca")
        self.strangers = Authority(directory, "strangers-ca")

    def config(self) -> dict[str, str]:
        """What kube-apiserver writes into the ConfigMap."""
        return {
            "client_ca_file": self.users.pem,
            "requestheader_client_ca_file": self.proxies.pem,
            "requestheader_allowed_names": '["front-proxy-client"]',
            "requestheader_username_headers": '["X-Remote-User"]',
            "requestheader_group_headers": '["X-Remote-Group"]',
            "requestheader_extra_headers_prefix": '["X-Remote-Extra-"]',
        }


def kubeconfig(directory: Path, cluster: Cluster, authority: Authority) -> Path:
    path = directory / "kubeconfig"
    path.write_bytes(
        encode_yaml(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {
                            "server": cluster.url,
                            "certificate-authority": str(authority.path),
                        },
                    }
                ],
                "users": [{"name": "u", "user": {"token": TOKEN}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return path


class BehindCluster(ServerProcess):
    """A server with a kubeconfig; nobody has a certificate of its own authority."""

    def __init__(
        self,
        directory: Path,
        *,
        authorities: Authorities,
        kubeconfig: Path,
        etcd_servers: str,
        arguments: Sequence[str] = (),
    ) -> None:
        self.authorities = authorities
        self.pair = authorities.serving.server(f"serving-{directory.name}")
        super().__init__(
            directory,
            etcd_servers=etcd_servers,
            arguments=(
                *("--kubeconfig", str(kubeconfig)),
                *("--tls-cert-file", str(self.pair.cert)),
                *("--tls-private-key-file", str(self.pair.key)),
                *arguments,
            ),
        )

    def __enter__(self) -> "BehindCluster":
        self.start()
        return self

    def is_ready(self) -> bool:
        return self.readiness() == 200

    def readiness(self) -> int:
        """/readyz's status; 0 where nobody answers."""
        try:
            with requests.Session() as session:
                session.trust_env = False
                where = f"{self.url}/readyz"
                return session.get(
                    where, verify=str(self.authorities.serving.path), timeout=2
                ).status_code
        except requests.RequestException:
            return 0

    async def wait_readiness(self, wanted: int) -> None:
        await eventually(lambda: self.readiness() == wanted)

    def served_certificate(self) -> str:
        return ssl.get_server_certificate(("127.0.0.1", self.port))

    def tls(self, pair: Pair | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authorities.serving.path))
        if pair is not None:
            context.load_cert_chain(pair.cert, pair.key)
        return context

    async def text(self, path: str) -> str:
        connector = aiohttp.TCPConnector(ssl=self.tls())
        async with (
            aiohttp.ClientSession(self.url, connector=connector) as session,
            session.get(path) as answer,
        ):
            return await answer.text()

    async def ask(
        self,
        path: str,
        *,
        pair: Pair | None = None,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        method: str = "GET",
        body: Any = None,
    ) -> tuple[int, Any]:
        """On a connection of its own. A relative path lies below the group's version."""
        where = path if path.startswith("/") else f"{GROUP_PATH}/{path}"
        connector = aiohttp.TCPConnector(ssl=self.tls(pair))
        async with (
            aiohttp.ClientSession(self.url, connector=connector) as session,
            session.request(method, where, headers=headers, json=body) as answer,
        ):
            return answer.status, await answer.json(content_type=None)


@contextmanager
def forwarding(
    authorities: Authorities, backends: Sequence[BehindCluster], pair: Pair
) -> Iterator[str]:
    """The front proxy, as a process; its URL."""
    port = free_port()
    serving = authorities.serving.server("proxy-serving")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.frontproxy.proxy", "--port", str(port)),
            *("--backends", ",".join(backend.url for backend in backends)),
            *("--ca", str(authorities.serving.path)),
            *("--cert", str(pair.cert), "--key", str(pair.key)),
            *("--serving-cert", str(serving.cert), "--serving-key", str(serving.key)),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield f"https://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def eventually(holds: Callable[[], bool]) -> None:
    """Other processes are watched: there is nothing to wait on but time."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110 -- see above
            await asyncio.sleep(0.05)
