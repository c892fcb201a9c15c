"""One line of the log for every request, with kube-apiserver's keys (its `httplog`, at `--v=3`)."""

import logging
from collections.abc import Callable

from aiohttp import web

from apis.meta import codec
from quotaapi.endpoints.exchange import Exchange, Handler

_log = logging.getLogger("quotaapi.http")


def with_request_log(inner: Handler, monotonic: Callable[[], float]) -> Handler:
    """`monotonic` in seconds. A watch is logged when it ends."""

    async def handle(exchange: Exchange) -> web.StreamResponse:
        started = monotonic()
        status = "-"  # the client went away, or the server ends
        try:
            answer = await inner(exchange)
            status = str(answer.status)
        finally:
            _write(exchange, status, monotonic() - started)
        return answer

    return handle


def _write(exchange: Exchange, status: str, seconds: float) -> None:
    info = exchange.info
    path = f"{info.path}?{info.query}" if info.query else info.path
    _log.info(
        "HTTP verb=%s URI=%s latency=%.3fms user=%s userAgent=%s audit-ID=%s srcIP=%s resp=%s",
        _quoted(info.verb.upper()),
        _quoted(path),
        seconds * 1e3,
        _quoted(exchange.user.name),
        _quoted(exchange.header("User-Agent")),
        _quoted(exchange.audit_id),
        _quoted(exchange.request.remote or ""),
        status,
    )


def _quoted(text: str) -> str:
    """A JSON string: what clients choose must not make a second line of the log."""
    return codec.encode(text.encode(errors="replace").decode()).decode()
