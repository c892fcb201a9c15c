"""No request but a watch takes longer than the server's limit, or than its client's `?timeout=`."""

import asyncio

from aiohttp import web

from apis.meta import errors
from quotaapi.config import parse_duration
from quotaapi.endpoints import query
from quotaapi.endpoints.exchange import Exchange, Handler

_RETRY_SECONDS = 1


def with_timeout(inner: Handler, limit_seconds: float) -> Handler:
    """A write that takes too long goes on: its client is told that nobody knows its outcome."""

    async def handle(exchange: Exchange) -> web.StreamResponse:
        if exchange.info.long_running:
            return await inner(exchange)
        seconds = _chosen(exchange, limit_seconds)
        try:
            async with asyncio.timeout(seconds):
                return await inner(exchange)
        except TimeoutError:
            message = f"request did not complete within {seconds:g}s"
            raise errors.timeout(message, _RETRY_SECONDS) from None

    return handle


def _chosen(exchange: Exchange, limit_seconds: float) -> float:
    """The client's own limit where it is shorter. Raises 400 for one that is no duration.

    None, and the server's limit holds, is 0 or less, as with kube-apiserver.
    """
    text = exchange.info.query
    if "timeout" not in text and "%" not in text:
        return limit_seconds
    wanted = query.first(query.parse(text), "timeout")
    if not wanted:
        return limit_seconds
    try:
        seconds = parse_duration(wanted.removeprefix("-"))
    except ValueError as error:
        why = f"invalid timeout specified in the request URL - {error}"
        raise errors.bad_request(why) from None
    return limit_seconds if not seconds or wanted[0] == "-" else min(seconds, limit_seconds)
