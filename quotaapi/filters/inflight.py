"""How much is carried out at once: beyond it clients are told to come again, cheaply.

Reads and writes are counted apart, so that neither starves the other. A write counts until it has
ended, not until its client left. Watches wait rather than work and are not counted; nor are members
of system:masters, who must get through when everybody else may not.
"""

from aiohttp import web

from apis.meta import errors
from quotaapi.auth.interface import MASTERS
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.mutations import Mutations, refuse_when_full


class ReadLimit:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = 0


def with_inflight_limit(inner: Handler, reads: ReadLimit, mutations: Mutations) -> Handler:
    async def handle(exchange: Exchange) -> web.StreamResponse:
        info = exchange.info
        exempt = info.long_running or MASTERS in exchange.user.groups
        if info.mutating:
            if not exempt:
                refuse_when_full(mutations)
            return await inner(exchange)
        if exempt:
            return await inner(exchange)
        if reads.running >= reads.limit:
            raise errors.too_many_requests("Too many requests, please try again later.")
        reads.running += 1
        try:
            return await inner(exchange)
        finally:
            reads.running -= 1

    return handle
