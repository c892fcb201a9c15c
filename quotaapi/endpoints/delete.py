"""DELETE of one object and of a collection."""

from aiohttp import web

from apis.meta import codec, errors
from quotaapi.endpoints import respond, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.bodies import read_options
from quotaapi.endpoints.deleteoptions import delete_options
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.listing import list_query, read_query
from quotaapi.endpoints.negotiation import accepted
from quotaapi.registry.options import DeleteOptions
from quotaapi.registry.rest import Rest


async def delete(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    """A Status where the object is gone, the object itself where it waits for its finalizers."""
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    options = await _options(exchange)
    shapes.check_answer(exchange, representation)
    written = await api.mutations.run(
        rest.delete(exchange.user, info.namespace, info.name, options)
    )
    if written.removed:
        uid = codec.decode_json(written.body).value["metadata"].get("uid", "")
        success = errors.success_status(rest.resource, info.name, uid)
        answer = respond.value(exchange, success, representation)
    else:
        answer = await shapes.one(exchange, rest.resource, written, representation)
    respond.add_warnings(answer, written.warnings)
    return answer


async def delete_collection(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    options = await _options(exchange)
    selection = await read_query(exchange, rest.resource, list_query)
    shapes.check_answer(exchange, representation, is_list=True)
    found = await api.mutations.run(
        rest.delete_collection(exchange.user, info.namespace, selection, options)
    )
    return await shapes.page(exchange, rest.resource, found, representation)


async def _options(exchange: Exchange) -> DeleteOptions:
    return delete_options(exchange.info.query, await read_options(exchange))
