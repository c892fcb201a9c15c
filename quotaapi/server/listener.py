"""The HTTPS port: aiohttp's low-level server, without its router and middlewares."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, cast

from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.web_protocol import RequestHandler

from apis.meta import codec, errors
from quotaapi.endpoints.longanswer import WRITE_BUFFER_BYTES

_log = logging.getLogger(__name__)

KEEPALIVE_SECONDS: Final = 630.0
"""Go's clients and proxies give an idle connection up after 90 s, load balancers after up to ten
minutes: who closes first must not be the server, or a request meets a closing connection."""

MAX_LINE_BYTES: Final = 64 * 1024
"""Request line: selectors of a few thousand names fit."""

MAX_HEADER_BYTES: Final = 32 * 1024
"""One header: the longest are tokens."""

HEAD_SECONDS: Final = 32.0
"""From the connection, or a request's first byte, to the end of its head: as kube-apiserver has it."""

UNREAD_SECONDS: Final = 60.0
"""How long a connection's buffers may stay full: as long as a request takes at most by default."""

READ_AHEAD: Final = 4
"""Requests of a client that sends on without waiting for answers, beyond which nothing is read."""

BACKLOG: Final = 1024

UNSENT_BYTES: Final = 128 * 1024
"""Of a connection, in the system's buffers, beside what is on its way."""

PAUSE_SECONDS: Final = 1.0
"""Without accepting, after the system had no descriptor left."""

_VERSIONS: Final = (HttpVersion11, HttpVersion10)
_SHOWN: Final = 100

WebHandler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class _Connection(RequestHandler):
    """One connection; says also what is no HTTP in the API's own format.

    A client that sends a request's head byte by byte, or connects and sends nothing, is cut off
    after HEAD_SECONDS: it would hold a connection for nothing. So is one that does not read what it
    is sent, after UNREAD_SECONDS: its buffers are full.
    """

    __slots__ = ("_head_timer", "_unread_timer")

    _head_timer: asyncio.TimerHandle | None
    _unread_timer: asyncio.TimerHandle | None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # A cast: uvloop's transports are of no class of asyncio's.
        outgoing = cast("asyncio.WriteTransport", transport)
        outgoing.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._unread_timer = None
        # Heads that were read ahead of their turn: of each there may be megabytes.
        self._max_msg_queue_size, self._msg_queue_resume_size = READ_AHEAD, 1
        self._head_timer = self._loop.call_later(HEAD_SECONDS, self.force_close)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_head_timer()
        self._stop_unread_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_timer = self._loop.call_later(UNREAD_SECONDS, self._abort)

    def resume_writing(self) -> None:
        self._stop_unread_timer()
        super().resume_writing()

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def data_received(self, data: bytes) -> None:
        heads = self._request_count
        super().data_received(data)
        if self._request_count != heads:
            self._stop_head_timer()
        elif self._head_timer is None and self._waiter is not None:
            # Between two requests: these bytes begin a head and do not end it.
            self._head_timer = self._loop.call_later(HEAD_SECONDS, self.force_close)

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 -- aiohttp's
        """`timeout` in seconds bounds it all: aiohttp waits twice as long, and without end for 0."""
        try:
            async with asyncio.timeout(timeout):
                await super().shutdown(timeout)
        except TimeoutError:
            if self._task_handler is not None:
                self._task_handler.cancel()
            self.force_close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Called for what cannot be parsed (and for a fault that passed every filter)."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun, there is no room for another")
        if status == HTTPStatus.BAD_REQUEST:
            refusal = errors.bad_request(message or "malformed HTTP request")
        else:
            _log.error("a fault outside of the filters", exc_info=exc)
            refusal = errors.internal_error("unexpected fault of the server")
        return _closing(refusal)


class _Server(web.Server):
    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class Listener:
    """`start` opens the port, `stop` closes it after the requests that are running.

    A worker has no port: it is `open` instead, and `take`s connections that the supervisor accepted.
    """

    def __init__(self, handler: WebHandler, context: ssl.SSLContext) -> None:
        self._handler = handler
        self._stopping = False
        server = _Server(
            self._answer,
            # A client that leaves cancels its handler: a watch is freed, not written to for ever.
            handler_cancellation=True,
            keepalive_timeout=KEEPALIVE_SECONDS,
            access_log=None,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            auto_decompress=False,  # a body of 3 MiB is to stay one
            lingering_time=1.0,
        )
        self._server = server
        self._runner = web.ServerRunner(server)
        self._context = context
        self._shaking_hands = 0
        self._listening: socket.socket | None = None
        self._handshakes: set[asyncio.Task[None]] = set()

    @property
    def connections(self) -> int:
        """Open ones, and those that are about to be."""
        return len(self._server.connections) + self._shaking_hands

    async def open(self) -> None:
        await self._runner.setup()

    async def take(self, connection: socket.socket) -> None:
        """Serve one client; returns after the handshake."""
        self._shaking_hands += 1
        served = False
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._server, connection, ssl=self._context
            )
            served = True
        except (OSError, ValueError) as error:
            # A client that speaks no TLS, or went away: the port of a server alone tells nobody either.
            _log.debug("no handshake: %s", error)
        except Exception:  # noqa: BLE001 -- see below
            # Whatever one client brings about ends its connection: the task is one of the server's.
            _log.exception("a connection could not be taken")
        finally:
            self._shaking_hands -= 1
            if not served:
                connection.close()

    async def start(self, address: str, port: int) -> int:
        """The port that was opened: `port`, or any where that is 0. Raises OSError."""
        await self.open()
        self._listening = bound(address, port)
        self._listening.setblocking(False)
        self._listening.listen(BACKLOG)
        self._accept_on()
        opened: int = self._listening.getsockname()[1]
        return opened

    def _accept_on(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        """One connection in each turn of the loop: hundreds that come together wait for each other's
        handshakes, of a millisecond each, and nobody else does."""
        if self._listening is None:
            return
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            _log.error("no connections for %g s: %s", PAUSE_SECONDS, error)
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._listening.fileno())
            loop.call_later(PAUSE_SECONDS, self._accept_on)
            return
        connection.setblocking(False)
        handshake = asyncio.get_running_loop().create_task(self.take(connection), name="handshake")
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    def _accept_no_more(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening.fileno())
            self._listening.close()
            self._listening = None

    async def stop(self, grace_seconds: float) -> None:
        """No new connections; running requests get `grace_seconds`, then they are cut off.

        Nobody waits for a client whose handshake is under way: its connection counts only from its
        end on. Where it gets through before the process ends (a worker cuts handshakes off, see
        Member.leave), its first request is answered as far as the server can, and the connection
        ends.
        """
        self._stopping = True
        self._accept_no_more()
        self._runner._shutdown_timeout = grace_seconds
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        refusal = _refusal(request)
        if refusal is not None:
            return _closing(refusal)
        answer = await self._handler(request)
        if self._stopping:
            answer.force_close()
        return answer


def _refusal(request: web.BaseRequest) -> errors.StatusError | None:
    """Of a message that the parser lets through, but whose meaning is not known for certain.

    As Go's server, and before anything of the request is looked at: of a body whose coding is not
    undone nobody knows what it says, nor where the next request begins.
    """
    version = request._version  # `request.version` would keep what it said first
    if version not in _VERSIONS:
        request._version = HttpVersion11  # the answer's status line says the same
        return errors.StatusError(
            HTTPStatus.HTTP_VERSION_NOT_SUPPORTED,
            "HTTPVersionNotSupported",
            f"HTTP/{version.major}.{version.minor} is not served, HTTP/1.1 is",
        )
    coding = request.headers.get("Transfer-Encoding")
    if coding is None:
        return None
    if version == HttpVersion10:
        return errors.bad_request("HTTP/1.0 has no Transfer-Encoding")
    if coding.strip().lower() != "chunked":
        return errors.StatusError(
            HTTPStatus.NOT_IMPLEMENTED,
            "NotImplemented",
            f"the transfer coding {coding[:_SHOWN]!r} is not known, chunked is",
        )
    return None


def _closing(refusal: errors.StatusError) -> web.Response:
    """An answer that is the connection's last."""
    body = codec.encode(refusal.status())
    headers = {"Content-Type": "application/json", "Server": "quotaapi"}
    answer = web.Response(status=refusal.code, body=body, headers=headers)
    answer.force_close()
    return answer


def bound(address: str, port: int) -> socket.socket:
    """A socket that holds the port and does not listen yet. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Answers are written in one piece mostly; a watch's small events must not wait for more.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # What no client has room for waits in our own buffers, which are bounded, and not in the
        # system's, which grow to megabytes for each connection and count as this process's memory.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        sock.bind((address, port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, error.strerror, f"{address}:{port}") from None
    return sock
