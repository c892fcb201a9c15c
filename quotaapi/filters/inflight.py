"""How much is carried out at once: beyond it clients are told to come again, cheaply.

Reads and writes are counted apart, so that neither starves the other. A write counts from its
arrival, since its body takes memory, and until it has ended, not until its client left. Watches wait
rather than work and are not counted; nor are members of system:masters, who must get through when
everybody else may not.
"""

from aiohttp import web

from apis.meta import errors
from quotaapi.auth.interface import MASTERS
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.mutations import Mutations, refuse_when_full


class InflightLimit:
    """Requests of one sort that are under way."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = 0

    async def counted(self, inner: Handler, exchange: Exchange) -> web.StreamResponse:
        if self.running >= self.limit:
            raise errors.too_many_requests("Too many requests, please try again later.")
        self.running += 1
        try:
            return await inner(exchange)
        finally:
            self.running -= 1


def with_inflight_limit(inner: Handler, reads: InflightLimit, mutations: Mutations) -> Handler:
    writes = InflightLimit(mutations.limit)

    async def handle(exchange: Exchange) -> web.StreamResponse:
        info = exchange.info
        exempt = info.long_running or MASTERS in exchange.user.groups
        if info.mutating:
            if exempt:
                return await inner(exchange)
            refuse_when_full(mutations)
            return await writes.counted(inner, exchange)
        if exempt:
            return await inner(exchange)
        return await reads.counted(inner, exchange)

    return handle
