"""What the person who started the server is told, once it serves."""

import logging
import shlex

from quotaapi import __version__, kubeconfig, tls
from quotaapi.config import Config

_log = logging.getLogger(__name__)


def announce(config: Config, port: int) -> None:
    """`port` is the one that was opened. Writes the kubeconfig of a server that stands alone."""
    if config.delegated:
        asked = config.kubeconfig or "the pod's service account"
        _log.info(
            "delegated: users, rights and namespaces are asked for at kube-apiserver (%s)", asked
        )
        _print(f"{_serves(config, port)}, behind kube-apiserver")
        return
    _log.warning("stand-alone: namespaces and secrets are unknown here and are not checked")
    _log.warning("stand-alone: every authenticated user may do everything")
    _introduce(config, port)


def _introduce(config: Config, port: int) -> None:
    material = tls.material(config.data_dir)
    directory = config.data_dir.resolve()
    admin = directory / "admin.kubeconfig"
    url = _url(config, port)
    # Who trusts a given certificate itself needs not know who signed it.
    authority = (config.tls_cert_file or material.ca_cert).resolve()
    kubeconfig.write(admin, url, authority, material)
    kubectl = ["kubectl", "--kubeconfig", str(admin), "api-resources"]
    cert, key = str(directory / material.admin_cert.name), str(directory / material.admin_key.name)
    curl = ["curl", "--cacert", str(authority), "--cert", cert, "--key", key]
    curl.append(f"{url}/apis/garden.sapcloud.io/v1beta1")
    # Quoted: a directory's name may hold spaces, and an IPv6 address brackets.
    _print(f"{_serves(config, port)}\n  {shlex.join(kubectl)}\n  {shlex.join(curl)}")


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 -- for the person who started it


def _serves(config: Config, port: int) -> str:
    etcd = "an etcd of its own" if config.embedded_etcd else ", ".join(config.etcd_servers)
    return f"quotaapi {__version__} serves {_url(config, port)} over {etcd}"


def _url(config: Config, port: int) -> str:
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.bind_address, config.bind_address)  # noqa: S104 -- compared
    return f"https://{f'[{address}]' if ':' in address else address}:{port}"
