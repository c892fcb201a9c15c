"""Health paths are answered to everybody, at once: a probe has no credentials, and no time."""

from aiohttp import web

from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.health import Health


def with_health(inner: Handler, health: Health) -> Handler:
    async def handle(exchange: Exchange) -> web.StreamResponse:
        if not exchange.info.resource and health.covers(exchange.info.path):
            return health.answer(exchange)
        return await inner(exchange)

    return handle
