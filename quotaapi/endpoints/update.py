"""PUT of one object, or of its status."""

from aiohttp import web

from quotaapi.endpoints import query, respond, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.bodies import read_object
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.negotiation import accepted
from quotaapi.registry.rest import Rest


async def update(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    body = await read_object(exchange, rest.resource.kind)
    options = query.update_options(info.query, exchange.header("User-Agent"))
    shapes.check_answer(exchange, representation)
    written = await api.mutations.run(
        rest.update(
            exchange.user, info.namespace, info.name, body, options, subresource=info.subresource
        )
    )
    status = 201 if written.created else 200
    answer = await shapes.one(exchange, rest.resource, written, representation, status=status)
    respond.add_warnings(answer, written.warnings)
    return answer
