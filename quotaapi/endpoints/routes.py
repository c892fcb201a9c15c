"""From what a request names to the verb that answers it: no router, three dictionaries."""

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from apis.meta import errors
from apis.meta.resource import Resource
from quotaapi.endpoints import respond
from quotaapi.endpoints.api import Api, Verb
from quotaapi.endpoints.create import create
from quotaapi.endpoints.delete import delete, delete_collection
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.get import get
from quotaapi.endpoints.list import list_
from quotaapi.endpoints.patch import patch
from quotaapi.endpoints.requestinfo import RequestInfo
from quotaapi.endpoints.standalone import Find, nothing
from quotaapi.endpoints.subresources import SUBRESOURCES, subresource
from quotaapi.endpoints.update import update
from quotaapi.endpoints.watch import watch

OBJECT_VERBS: Final[Mapping[str, Verb]] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}

STATUS_VERBS: Final[Mapping[str, Verb]] = {"get": get, "update": update, "patch": patch}

_NAMED: Final = frozenset({"update", "patch"})


def dispatcher(api: Api, pages: Mapping[str, Handler], find: Find = nothing) -> Handler:
    """The end of the filter chain. `pages`: exact paths that are no objects (discovery and the like).

    `find`: what else answers a path that is no object's, whatever the method.
    """

    async def dispatch(exchange: Exchange) -> web.StreamResponse:
        info = exchange.info
        if not info.resource:
            page = pages.get(info.path.rstrip("/") or "/") if info.valid else None
            if page is None:
                page = find(info) if info.valid else None
                return await page(exchange) if page else respond.no_such_page(exchange)
            if info.method not in ("GET", "HEAD"):
                raise errors.method_not_allowed_here()
            return await page(exchange)
        rest = api.rests.get(info.resource)
        if rest is None or not _has_path(rest.resource, info):
            return respond.no_such_page(exchange)
        return await _verb(rest.resource, info)(api, rest, exchange)

    return dispatch


def _has_path(resource: Resource, info: RequestInfo) -> bool:
    """Whether the path exists for this kind: a scope's rules, strictly.

    A cluster-scoped collection below a namespace must not be one: a namespace that is being
    emptied would otherwise take the cluster's objects along. Across all namespaces there is
    nothing but lists and watches.
    """
    if not info.valid:
        return False
    if not resource.namespaced:
        return not info.namespace
    return bool(info.namespace) or (info.verb in ("list", "watch") and not info.name)


def _verb(resource: Resource, info: RequestInfo) -> Verb:
    verbs = OBJECT_VERBS
    if info.subresource:
        verbs = _subresource_verbs(resource, info)
    verb = verbs.get(info.verb)
    allowed = "update" if info.subresource and info.verb == "patch" else info.verb
    if verb is None or allowed not in resource.verbs:
        raise errors.method_not_allowed(resource, info.verb)
    if info.verb in _NAMED and not info.name:
        raise errors.bad_request("name must be provided")
    return verb


def _subresource_verbs(resource: Resource, info: RequestInfo) -> Mapping[str, Verb]:
    if info.subresource == "status" and resource.has_status:
        return STATUS_VERBS
    found = subresource(resource, info.subresource)
    if found is None:
        known = [each.name for each in SUBRESOURCES.get(resource.plural, ())]
        if resource.has_status:
            known.insert(0, "status")
        raise errors.no_subresource(resource, info.name, info.subresource, known)
    return found.verbs
