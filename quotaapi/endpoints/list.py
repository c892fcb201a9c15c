"""GET of a collection."""

from aiohttp import web

from quotaapi.endpoints import shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.listing import list_query, read_query
from quotaapi.endpoints.negotiation import accepted
from quotaapi.registry.rest import Rest


async def list_(_api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    shapes.check_shape(representation, is_list=True)
    query = await read_query(exchange, rest.resource, list_query)
    found = await rest.list(info.namespace, query)
    return await shapes.page(exchange, rest.resource, found, representation)
