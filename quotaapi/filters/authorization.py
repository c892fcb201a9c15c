"""Whether the user may: asked for every request, before anything is looked up for it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from aiohttp import web

from apis.meta import errors
from apis.meta.names import dns1123_subdomain
from apis.meta.resource import Resource
from apis.meta.selectors import FieldSelector
from quotaapi.auth.interface import MASTERS, Authorizer, Decision
from quotaapi.endpoints import query
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.requestinfo import RequestInfo

_COLLECTION_VERBS: Final = frozenset({"list", "watch", "deletecollection"})


def with_authorization(
    inner: Handler, authorizer: Authorizer, resources: Mapping[str, Resource]
) -> Handler:
    """`resources`: plural -> kind, for the words of a refusal."""

    async def handle(exchange: Exchange) -> web.StreamResponse:
        if MASTERS not in exchange.user.groups:
            info = _narrowed(exchange.info)
            decision = await authorizer.authorize(exchange.user, info)
            if not decision.allowed:
                raise _refusal(exchange.user.name, info, decision, resources)
        return await inner(exchange)

    return handle


class _AnyField(Collection[str]):
    """Which fields there are is the endpoint's to say; here only one is looked for."""

    def __contains__(self, _field: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_ANY_FIELD = _AnyField()


def _narrowed(info: RequestInfo) -> RequestInfo:
    """A collection of which a selector leaves one object is about that object, as in kube:
    who may list or watch single objects by their names asks in this way."""
    if info.verb not in _COLLECTION_VERBS or info.name or "fieldSelector" not in info.query:
        return info
    text = query.first(query.parse(info.query), "fieldSelector")
    try:
        name = FieldSelector.parse(text or "", _ANY_FIELD).exact("metadata.name")
    except ValueError:
        return info  # the endpoint will say what is wrong with it
    return replace(info, name=name) if name and not dns1123_subdomain(name) else info


def _refusal(
    user: str, info: RequestInfo, decision: Decision, resources: Mapping[str, Resource]
) -> errors.StatusError:
    """In kube-apiserver's words."""
    reason = f": {decision.reason}" if decision.reason else ""
    resource = resources.get(info.resource)
    if resource is None:
        return errors.forbidden_path(f'User "{user}" cannot {info.verb} path "{info.path}"{reason}')
    asked = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    scope = f'in the namespace "{info.namespace}"' if info.namespace else "at the cluster scope"
    why = (
        f'User "{user}" cannot {info.verb} resource "{asked}" '
        f'in API group "{info.group}" {scope}{reason}'
    )
    return errors.forbidden(resource, info.name, why)
