"""What the person who started the server is told, once it serves."""

import logging

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
    kubeconfig.write(admin, url, material)
    files = {"cacert": "ca.crt", "cert": "admin.crt", "key": "admin.key"}
    curl = " ".join(["curl", *(f"--{flag} {directory / name}" for flag, name in files.items())])
    _print(
        f"{_serves(config, port)}\n"
        f"  kubectl --kubeconfig {admin} api-resources\n"
        f"  {curl} {url}/apis/garden.sapcloud.io/v1beta1"
    )


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 -- for the person who started it


def _serves(config: Config, port: int) -> str:
    etcd = "an etcd of its own" if config.embedded_etcd else ", ".join(config.etcd_servers)
    return f"quotaapi {__version__} serves {_url(config, port)} over {etcd}"


def _url(config: Config, port: int) -> str:
    address = config.bind_address
    return f"https://{f'[{address}]' if ':' in address else address}:{port}"
