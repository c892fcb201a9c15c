"""How a server tells who asks and what they may: stand-alone, or as a cluster says."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from admission.plugins.lookups import NamespaceLookup, ReferenceChecker
from quotaapi.auth.certificates import CertificateAuthenticator
from quotaapi.auth.interface import Authenticator, Authorizer
from quotaapi.auth.peers import Peer, Peers
from quotaapi.auth.standalone import AllowAuthenticated, NoNamespaces, UncheckedReferences
from quotaapi.auth.tokens import TokenAuthenticator

Identify = Callable[[web.BaseRequest], Peer]
"""Whose certificate the request's connection was opened with."""


@dataclass(frozen=True, slots=True)
class Access:
    """`running`: by name, for the lifecycle to start and to cancel. `checks`: for /readyz.

    `garbage_collected`: a cluster's controller-manager does it, the server need not. `audited`:
    writes are logged with their user, for others' logs to be joined with.
    """

    authenticators: Sequence[Authenticator]
    authorizer: Authorizer
    references: ReferenceChecker
    namespaces: NamespaceLookup
    identify: Identify
    checks: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    running: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=dict)
    garbage_collected: bool = False
    audited: bool = False


def stand_alone(token_auth_file: Path | None, peers: Peers) -> Access:
    """Raises OSError, TokenFileError."""
    # A certificate is the connection's, so it comes before what one request says.
    authenticators: list[Authenticator] = [CertificateAuthenticator()]
    if token_auth_file is not None:
        authenticators.append(TokenAuthenticator.of_file(token_auth_file))
    return Access(
        authenticators=authenticators,
        authorizer=AllowAuthenticated(),
        references=UncheckedReferences(),
        namespaces=NoNamespaces(),
        identify=peers.of_request,
    )
