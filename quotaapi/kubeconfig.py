"""The kubeconfig that the stand-alone server leaves for its admin: self-contained, so it can be copied."""

from base64 import b64encode
from pathlib import Path

from apis.meta import codec
from quotaapi.tls import Material, write_private

_NAME = "quotaapi"


def write(path: Path, server_url: str, authority: Path, material: Material) -> None:
    """Write it anew: the port or a certificate may have changed since the last start.

    `authority`: what a client is to trust of the server, its CA or its certificate itself.
    """
    write_private(path, codec.encode_yaml(_config(server_url, authority, material)))


def _config(server_url: str, authority: Path, material: Material) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": _NAME,
                "cluster": {
                    "server": server_url,
                    "certificate-authority-data": _inline(authority),
                },
            }
        ],
        "users": [
            {
                "name": "admin",
                "user": {
                    "client-certificate-data": _inline(material.admin_cert),
                    "client-key-data": _inline(material.admin_key),
                },
            }
        ],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": "admin"}}],
        "current-context": _NAME,
    }


def _inline(path: Path) -> str:
    return b64encode(path.read_bytes()).decode()
