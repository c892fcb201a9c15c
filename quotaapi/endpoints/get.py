"""GET of one object, or of its status: the same object."""

from aiohttp import web

from quotaapi.endpoints import query, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.negotiation import accepted
from quotaapi.registry.rest import Rest


async def get(_api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    version = query.get_options(info.query)
    record = await rest.get(info.namespace, info.name, resource_version=version)
    return await shapes.one(exchange, rest.resource, record, representation)
