"""Who wrote what, and with which outcome: one line of the log for every write.

kube-apiserver's audit log has the request under the same Audit-Id; what it cannot have is what was
made of it here.
"""

import logging

from aiohttp import web

from apis.meta.errors import StatusError
from quotaapi.endpoints.exchange import Exchange, Handler

_log = logging.getLogger("quotaapi.audit")


def with_audit(inner: Handler) -> Handler:
    async def handle(exchange: Exchange) -> web.StreamResponse:
        if not exchange.info.mutating:
            return await inner(exchange)
        code = 500
        try:
            answer = await inner(exchange)
            code = answer.status
        except StatusError as error:
            code = error.code
            raise
        finally:
            _write(exchange, code)
        return answer

    return handle


def _write(exchange: Exchange, code: int) -> None:
    """`%r`: what clients choose must not make a second line of the log."""
    user, info = exchange.user, exchange.info
    _log.info(
        "audit-id=%r user=%r uid=%r groups=%r extra=%r verb=%s path=%r code=%d",
        exchange.audit_id,
        user.name,
        user.uid,
        list(user.groups),
        {key: list(values) for key, values in user.extra.items()},
        info.verb,
        info.path,
        code,
    )
