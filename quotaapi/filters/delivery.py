"""A long answer is written within its request: in its place in flight, and within its time."""

from aiohttp import web

from quotaapi.endpoints import respond
from quotaapi.endpoints.exchange import Exchange, Handler


def with_delivery(inner: Handler) -> Handler:
    async def handle(exchange: Exchange) -> web.StreamResponse:
        answer = await inner(exchange)
        await respond.finish(exchange, answer)
        return answer

    return handle
