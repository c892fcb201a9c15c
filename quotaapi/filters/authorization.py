"""Whether the user may: asked for every request, before anything is looked up for it."""

from collections.abc import Mapping

from aiohttp import web

from apis.meta import errors
from apis.meta.resource import Resource
from quotaapi.auth.interface import MASTERS, Authorizer, Decision
from quotaapi.endpoints.exchange import Exchange, Handler


def with_authorization(
    inner: Handler, authorizer: Authorizer, resources: Mapping[str, Resource]
) -> Handler:
    """`resources`: plural -> kind, for the words of a refusal."""

    async def handle(exchange: Exchange) -> web.StreamResponse:
        if MASTERS not in exchange.user.groups:
            decision = await authorizer.authorize(exchange.user, exchange.info)
            if not decision.allowed:
                raise _refusal(exchange, decision, resources)
        return await inner(exchange)

    return handle


def _refusal(
    exchange: Exchange, decision: Decision, resources: Mapping[str, Resource]
) -> errors.StatusError:
    """In kube-apiserver's words."""
    info, user = exchange.info, exchange.user.name
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
