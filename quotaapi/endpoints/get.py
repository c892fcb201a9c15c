"""GET of one object, or of its status: the same object."""

from aiohttp import web

from quotaapi.endpoints import query, respond, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.compression import LEAST_BYTES
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.longanswer import of_parts
from quotaapi.endpoints.negotiation import accepted
from quotaapi.registry.rest import Rest


async def get(_api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    version = query.get_options(info.query)
    record = await rest.get(info.namespace, info.name, resource_version=version)
    if len(record.body) >= LEAST_BYTES and shapes.is_stored(exchange, representation):
        pieces = of_parts(record.json_parts())
        return await respond.long(exchange, pieces, length=record.json_bytes)
    return await shapes.one(exchange, rest.resource, record, representation)
