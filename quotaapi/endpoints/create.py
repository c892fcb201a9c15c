"""POST to a collection."""

from aiohttp import web

from quotaapi.endpoints import query, respond, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.bodies import read_object
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.negotiation import accepted
from quotaapi.registry.rest import Rest


async def create(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    body = await read_object(exchange, rest.resource.kind)
    options = query.create_options(info.query, exchange.header("User-Agent"))
    shapes.check_answer(exchange, representation)
    written = await api.mutations.run(rest.create(exchange.user, info.namespace, body, options))
    answer = await shapes.one(exchange, rest.resource, written, representation, status=201)
    respond.add_warnings(answer, written.warnings)
    return answer
