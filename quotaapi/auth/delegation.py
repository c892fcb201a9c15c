"""Behind a kube-apiserver: who asks and what they may is its to say.

Three clients, which mostly are one: for authentication (the ConfigMap, TokenReview), for
authorization (SubjectAccessReview), and for what else is looked up (namespaces, secrets).
"""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from quotaapi.auth.access import Access
from quotaapi.auth.accessreview import AccessReviewAuthorizer, ClusterReferences
from quotaapi.auth.anonymous import AnonymousAuthenticator
from quotaapi.auth.certificates import CertificateAuthenticator
from quotaapi.auth.clusterconfig import ClusterConfig, ClusterTrust
from quotaapi.auth.following import follow
from quotaapi.auth.interface import Authenticator
from quotaapi.auth.kube import KubeClient
from quotaapi.auth.namespaces import PATH as NAMESPACES
from quotaapi.auth.namespaces import ClusterNamespaces
from quotaapi.auth.peers import Peers
from quotaapi.auth.reachability import ClusterAsker, Reachability
from quotaapi.auth.requestheader import RequestHeaderAuthenticator
from quotaapi.auth.tokenreview import TokenReviewAuthenticator
from quotaapi.auth.tokens import TokenAuthenticator
from quotaapi.trust import Authorities

Spawn = Callable[[Coroutine[Any, Any, None]], object]


@dataclass(frozen=True, slots=True)
class Clients:
    """kube-apiserver, as who asks what."""

    main: KubeClient
    authentication: KubeClient
    authorization: KubeClient


async def connect(
    kubeconfigs: Mapping[str, Path | None],
    monotonic: Callable[[], float],
    ending: AsyncExitStack,
) -> Clients:
    """`kubeconfigs`: `main`, `authentication`, `authorization`; equal ones share a client.

    None: the pod's service account. `ending` closes them. Raises ClusterAccessError.
    """
    made: dict[Path | None, KubeClient] = {}
    for path in kubeconfigs.values():
        if path not in made:
            made[path] = await KubeClient.connect(path, monotonic)
            ending.push_async_callback(made[path].close)
    return Clients(**{name: made[path] for name, path in kubeconfigs.items()})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`trusted` is told (DER) whose certificates TLS is to accept; `spawn` owns questions.

    `client_ca`: what --client-ca-file holds.
    """

    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    spawn: Spawn
    trusted: Callable[[bytes], None]
    client_ca: Authorities = field(default_factory=Authorities)
    token_auth_file: Path | None = None


class Delegation:
    """`access` is what the server works with."""

    def __init__(self, clients: Clients, around: Surroundings) -> None:
        """Raises OSError, ClusterAccessError, TokenFileError."""
        self._around = around
        self._cluster: ClusterTrust | None = None
        self._client_ca = around.client_ca
        self._peers = Peers(around.clock)
        reachability = Reachability()
        timing: dict[str, Any] = {"monotonic": around.monotonic, "spawn": around.spawn}
        config = ClusterConfig(clients.authentication, reachability, self._take)
        authorizer = AccessReviewAuthorizer(
            ClusterAsker(clients.authorization, reachability), **timing
        )
        main = ClusterAsker(clients.main, reachability)
        namespaces = ClusterNamespaces(main, **timing)
        reviews = TokenReviewAuthenticator(
            ClusterAsker(clients.authentication, reachability), **timing
        )
        self.access = Access(
            authenticators=self._authenticators(config, reviews),
            authorizer=authorizer,
            references=ClusterReferences(authorizer, main),
            namespaces=namespaces,
            identify=self._peers.of_request,
            checks={
                "kube-apiserver": reachability.check,
                "authentication-configuration": config.check,
                "namespaces": namespaces.check,
            },
            running={
                "authentication configuration": config.run,
                "namespaces": partial(follow, clients.main, NAMESPACES, namespaces),
            },
            garbage_collected=True,
            audited=True,
        )
        self._trust()

    def _authenticators(
        self, config: ClusterConfig, reviews: TokenReviewAuthenticator
    ) -> tuple[Authenticator, ...]:
        """Asked in this order, kube-apiserver's own: who speaks for others first."""
        file = self._around.token_auth_file
        tokens = () if file is None else (TokenAuthenticator.of_file(file, known_only=True),)
        return (
            RequestHeaderAuthenticator(config.headers),
            CertificateAuthenticator(),
            *tokens,
            reviews,
            AnonymousAuthenticator(),
        )

    def trust(self, client_ca: Authorities) -> None:
        """--client-ca-file holds these now. Raises OSError where TLS does not take them."""
        self._client_ca = client_ca
        self._trust()

    def _take(self, trust: ClusterTrust) -> None:
        self._cluster = trust
        self._trust()

    def _trust(self) -> None:
        """TLS lets in who is vouched for at all; which authority it was is judged per connection."""
        cluster = self._cluster
        client, proxy = self._client_ca, Authorities()
        if cluster is not None:
            client = Authorities(b"\n".join((client.pem, cluster.client.pem)))
            proxy = cluster.proxy
        # Who is vouched for no more is nobody at once, whatever TLS makes of the rest.
        self._peers.trust(client=client, proxy=proxy)
        self._around.trusted(client.der + proxy.der)
