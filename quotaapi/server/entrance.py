"""Who gets in, and by which TLS: put together for a server that stands alone, or for a cluster's."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from quotaapi import __version__, kubeconfig, tls
from quotaapi.auth.access import Access, stand_alone
from quotaapi.config import Config
from quotaapi.server.serving import ServingFiles, ServingTls

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entrance:
    """`announce(port)` tells the operator where the server is, once it serves."""

    access: Access
    serving: ServingTls
    announce: Callable[[int], None]


class Questions:
    """Tasks of questions that are asked elsewhere; `cancel` ends what nobody will hear of."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, question: Coroutine[Any, Any, None]) -> None:
        task = self._tasks.create_task(question, name="question")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()


async def build_entrance(
    config: Config,
    clock: Callable[[], datetime],
    questions: Questions,
    ending: AsyncExitStack,
) -> Entrance:
    """`ending` closes connections. Raises OSError, TokenFileError, ClusterAccessError."""
    if config.delegated:
        return await _delegated(config, clock, questions, ending)
    material = tls.ensure(config.data_dir, config.bind_address, clock)
    cas = [material.ca_cert, *([config.client_ca_file] if config.client_ca_file else [])]
    pair = _given_pair(config) or (material.server_cert, material.server_key)
    serving = ServingTls(ServingFiles(*pair, tuple(cas)))

    def announce(port: int) -> None:
        _log.warning("stand-alone: namespaces and secrets are unknown here and are not checked")
        _log.warning("stand-alone: every authenticated user may do everything")
        _introduce(config, material, port)

    return Entrance(stand_alone(config.token_auth_file), serving, announce)


async def _delegated(
    config: Config,
    clock: Callable[[], datetime],
    questions: Questions,
    ending: AsyncExitStack,
) -> Entrance:
    # Imported here: the kubernetes client takes longer to load than all the rest together, and
    # 40 MB, which a server that stands alone has no use for.
    from quotaapi.auth import delegation

    main = config.kubeconfig
    clients = await delegation.connect(
        {
            "main": main,
            "authentication": config.authentication_kubeconfig or main,
            "authorization": config.authorization_kubeconfig or main,
        },
        time.monotonic,
        ending,
    )
    made: list[delegation.Delegation] = []

    def reread() -> None:
        for one in made:
            one.reread()

    cas = (config.client_ca_file,) if config.client_ca_file else ()
    serving = ServingTls(ServingFiles(*_cluster_pair(config, clock), cas), reloaded=reread)
    around = delegation.Surroundings(
        clock=clock,
        monotonic=time.monotonic,
        spawn=questions.spawn,
        trusted=serving.trust,
        client_ca_file=config.client_ca_file,
        token_auth_file=config.token_auth_file,
    )
    made.append(delegation.Delegation(clients, around))

    def announce(port: int) -> None:
        asked = main or "the pod's service account"
        _log.info(
            "delegated: users, rights and namespaces are asked for at kube-apiserver (%s)", asked
        )
        print(  # noqa: T201 -- for the person who started it
            f"quotaapi {__version__} serves {_url(config, port)} {_etcd(config)}, behind kube-apiserver",
            flush=True,
        )

    return Entrance(made[0].access, serving, announce)


def _given_pair(config: Config) -> tuple[Path, Path] | None:
    if config.tls_cert_file is None or config.tls_private_key_file is None:
        return None
    return config.tls_cert_file, config.tls_private_key_file


def _cluster_pair(config: Config, clock: Callable[[], datetime]) -> tuple[Path, Path]:
    if (given := _given_pair(config)) is not None:
        return given
    _log.warning(
        "without --tls-cert-file the certificate is this server's own: "
        "replicas would differ, and kube-apiserver trusts none that `quotaapi register` did not make"
    )
    material = tls.ensure(config.data_dir, config.bind_address, clock)
    return material.server_cert, material.server_key


def _introduce(config: Config, material: tls.Material, port: int) -> None:
    directory = config.data_dir.resolve()
    admin = directory / "admin.kubeconfig"
    url = _url(config, port)
    kubeconfig.write(admin, url, material)
    print(  # noqa: T201 -- for the person who started it
        f"quotaapi {__version__} serves {url} {_etcd(config)}\n"
        f"  kubectl --kubeconfig {admin} api-resources\n"
        f"  {_curl(directory)} {url}/apis/garden.sapcloud.io/v1beta1",
        flush=True,
    )


def _url(config: Config, port: int) -> str:
    address = config.bind_address
    return f"https://{f'[{address}]' if ':' in address else address}:{port}"


def _etcd(config: Config) -> str:
    return (
        f"over {'an etcd of its own' if config.embedded_etcd else ', '.join(config.etcd_servers)}"
    )


def _curl(directory: Path) -> str:
    files = {"cacert": "ca.crt", "cert": "admin.crt", "key": "admin.key"}
    return " ".join(["curl", *(f"--{flag} {directory / name}" for flag, name in files.items())])
