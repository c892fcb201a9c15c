"""Who gets in, and by which TLS: put together for a server that stands alone, or for a cluster's."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from apis.meta import errors
from quotaapi import tls
from quotaapi.auth.access import Access, stand_alone
from quotaapi.auth.peers import Peers
from quotaapi.config import Config
from quotaapi.server.clientcas import ClientCas
from quotaapi.server.serving import ServingTls
from quotaapi.trust import Authorities

_log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
"""Between two looks at the files of certificates."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Who may do what, and the TLS of the connections that they come by.

    `trusted` is told whenever the files of client CAs hold others.
    """

    access: Access
    serving: ServingTls
    client_cas: ClientCas
    trusted: Callable[[Authorities], None]

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Files are taken each by itself: none that cannot be used holds up the others."""
        self.serving.look()
        if self.client_cas.look():
            try:
                self.trusted(self.client_cas.newest)
            except OSError as error:
                _log.warning("TLS does not take the new client CAs: %s", error)


class Questions:
    """Tasks of questions that are asked elsewhere; `cancel` ends what nobody will hear of."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._running: set[asyncio.Task[None]] = set()
        self._ended = False

    def spawn(self, question: Coroutine[Any, Any, None]) -> None:
        """Raises StatusError 503 once the server asks nothing more."""
        if not self._ended:
            # As for writes: the group itself takes no more where one of the server's tasks failed.
            with suppress(RuntimeError):
                task = self._tasks.create_task(question, name="question")
                self._running.add(task)
                task.add_done_callback(self._running.discard)
                return
        question.close()
        raise errors.service_unavailable("the server is shutting down")

    def cancel(self) -> None:
        self._ended = True
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
    client_cas = ClientCas(cas)
    serving = ServingTls(*pair, client_cas.newest.der)
    peers = Peers(clock)

    def trusted(authorities: Authorities) -> None:
        peers.trust(client=authorities, proxy=Authorities())
        serving.trust(authorities.der)

    trusted(client_cas.newest)
    access = stand_alone(config.token_auth_file, peers)
    return Entrance(access, serving, client_cas, trusted)


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
    client_cas = ClientCas([config.client_ca_file] if config.client_ca_file else [])
    serving = ServingTls(*_cluster_pair(config, clock))
    around = delegation.Surroundings(
        clock=clock,
        monotonic=time.monotonic,
        spawn=questions.spawn,
        trusted=serving.trust,
        client_ca=client_cas.newest,
        token_auth_file=config.token_auth_file,
    )
    delegated = delegation.Delegation(clients, around)
    return Entrance(delegated.access, serving, client_cas, delegated.trust)


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
