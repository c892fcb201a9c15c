"""What a server that stands alone answers in place of the kube-apiserver that is not there.

Clients ask these beside the group. kubectl: may I, who am I, and, where an object is not found, whether
its namespace is there. The Python client: what the core group has, whatever /api says. Discovery lists
none of them: they are no resources of this server's.
"""

from collections.abc import Callable
from typing import Final

from aiohttp import web

from apis.meta.names import dns1123_label
from quotaapi.auth.interface import Authorizer
from quotaapi.endpoints import respond
from quotaapi.endpoints.accessreviews import actions
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.negotiation import Representation, accepted
from quotaapi.endpoints.requestinfo import RequestInfo

_CORE: Final = "/api/v1"
_NAMESPACES: Final = f"{_CORE}/namespaces/"
_READS: Final = ("GET", "HEAD")

Find = Callable[[RequestInfo], Handler | None]


def nothing(info: RequestInfo) -> Handler | None:
    """Behind a kube-apiserver, which answers itself."""
    del info
    return None


def finder(authorizer: Authorizer) -> Find:
    """What answers a request, where something does; `info` names no resource of the group's."""
    posted = actions(authorizer)

    def find(info: RequestInfo) -> Handler | None:
        path = info.path.rstrip("/")
        if info.method not in _READS:
            return posted.get(path)
        if path == _CORE:
            return _core
        if path.startswith(_NAMESPACES) and not dns1123_label(path.removeprefix(_NAMESPACES)):
            return _namespace
        return posted.get(path)

    return find


async def _core(exchange: Exchange) -> web.StreamResponse:
    representation = accepted(exchange.header("Accept"))
    nothing_there = {"kind": "APIResourceList", "groupVersion": "v1", "resources": []}
    return respond.value(exchange, nothing_there, Representation(representation.media_type))


async def _namespace(exchange: Exchange) -> web.StreamResponse:
    """Nobody keeps namespaces here: every name is as good as another, so each of them is there."""
    representation = accepted(exchange.header("Accept"))
    found = {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": exchange.info.path.rstrip("/").removeprefix(_NAMESPACES),
            "creationTimestamp": None,
        },
        "spec": {},
        "status": {"phase": "Active"},
    }
    return respond.value(exchange, found, Representation(representation.media_type))
