"""The outermost filter: whatever happens inside, the client gets a Status in kube's format."""

import logging

from aiohttp import web

from apis.meta.errors import StatusError
from quotaapi.endpoints import respond
from quotaapi.endpoints.exchange import Exchange, Handler

_log = logging.getLogger(__name__)


def with_errors(inner: Handler) -> Handler:
    async def handle(exchange: Exchange) -> web.StreamResponse:
        try:
            return await inner(exchange)
        except StatusError as error:
            return _answer(exchange, error)
        except ConnectionError:
            raise  # the client is gone: there is nobody to answer
        # The one place where a fault of our own ends: logged with its trace, which the client
        # never sees; it gets an id by which the log is found. `%r`: a path may hold line ends.
        except Exception:  # noqa: BLE001 -- see above
            _log.exception(
                "%s %r failed, audit id %s",
                exchange.info.method, exchange.info.path, exchange.audit_id,
            )  # fmt: skip
            return _answer(exchange, respond.unexpected(exchange))

    return handle


def _answer(exchange: Exchange, error: StatusError) -> web.StreamResponse:
    """A Status; where half an answer is on its way already, the connection's end says it all, at
    once: a client that does not read would keep what waits for it."""
    if exchange.request.writer.output_size > 0:
        if (transport := exchange.request.transport) is not None:
            transport.abort()
        raise ConnectionError(f"after the answer had begun: {error}")
    return respond.failure(exchange, error)
