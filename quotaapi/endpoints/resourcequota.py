"""GET of a shoot's `resourcequota`: what its quotas leave for use inside the cluster."""

from typing import Final

from aiohttp import web

from admission.metering.remainder import remainder, resource_quota
from apis.garden.v1beta1.bindings import BINDING_PLURALS, quotas_of
from apis.garden.v1beta1.shoot import binding_of
from apis.meta import errors
from apis.meta.errors import StatusError
from apis.meta.transaction import Object, Record
from quotaapi.endpoints import query, respond
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.negotiation import Representation, accepted
from quotaapi.registry.rest import Rest

_ATTEMPTS: Final = 3
"""A binding may name other quotas, and the old ones be deleted, between two reads."""


async def resourcequota(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    version = query.get_options(info.query)
    record = await rest.get(info.namespace, info.name, resource_version=version)
    limits = await _limits(api, record)
    found = resource_quota(info.name, remainder(limits, record.header.charge or {}))
    return respond.value(exchange, found, Representation(representation.media_type))


async def _limits(api: Api, shoot: Record) -> list[Object]:
    """`spec.metrics` of all quotas. A reference that cannot be followed is no permission."""
    obj = shoot.object()
    kind, name = binding_of(obj)
    namespace = obj["metadata"]["namespace"]
    for _ in range(_ATTEMPTS):
        try:
            binding = await api.rests[BINDING_PLURALS[kind]].get(namespace, name)
            quotas = [await api.rests["quotas"].get(*ref) for ref in quotas_of(binding.object())]
        except StatusError as error:
            if error.reason != "NotFound":
                raise
        else:
            return [quota.object()["spec"].get("metrics") or {} for quota in quotas]
    raise errors.service_unavailable("the quotas of the shoot's binding cannot be read", 1)
