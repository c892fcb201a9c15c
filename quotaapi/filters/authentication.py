"""Who asks. Without credentials nobody gets further; wrong ones are not taken for none."""

from collections.abc import Sequence

from aiohttp import web
from multidict import MultiMapping

from apis.meta import errors
from apis.meta.values import valueclass
from quotaapi.auth.access import Identify
from quotaapi.auth.interface import Authenticator
from quotaapi.auth.peers import Peer, Subject
from quotaapi.endpoints.exchange import Exchange, Handler

_IMPERSONATION = "impersonate-"
"""How the names of all such headers begin: -User, -Group, -Uid, -Extra-…"""


@valueclass
class RequestCredentials:
    """`auth.interface.Credentials` of an HTTP request."""

    request: web.BaseRequest
    peer: Peer

    @property
    def headers(self) -> MultiMapping[str]:
        return self.request.headers

    @property
    def subject(self) -> Subject | None:
        return self.peer.client

    @property
    def proxy(self) -> Subject | None:
        return self.peer.proxy

    @property
    def stranger(self) -> bool:
        return self.peer.stranger


def with_authentication(
    inner: Handler, authenticators: Sequence[Authenticator], identify: Identify
) -> Handler:
    async def handle(exchange: Exchange) -> web.StreamResponse:
        credentials = RequestCredentials(exchange.request, identify(exchange.request))
        for authenticator in authenticators:
            user = await authenticator.authenticate(credentials)
            if user is not None:
                exchange.user = user
                _refuse_impersonation(exchange)
                return await inner(exchange)
        raise errors.unauthorized()

    return handle


def _refuse_impersonation(exchange: Exchange) -> None:
    """kube-apiserver impersonates and says so by its own headers; it strips these.

    Who sends them here means to have somebody else's rights, mostly fewer: carrying the request
    out with the sender's own would be the one thing that was not asked for.
    """
    length = len(_IMPERSONATION)
    if any(name[:length].lower() == _IMPERSONATION for name in exchange.request.headers):
        raise errors.forbidden_path("impersonation is kube-apiserver's: send the request there")
