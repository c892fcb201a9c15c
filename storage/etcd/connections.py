"""HTTP/1.1 connections to etcd's gateway, for calls of one request and one answer.

They stand in for the aiohttp session behind etcd3-py's client. aiohttp's client is made for every
server there is and takes 0.31 ms of CPU for a call, this 0.09: a create that is alone waits for one
such call (measured with etcd on the same machine, uvloop). Streams remain aiohttp's.

A connection carries one call at a time. Between calls it is idle, and the one that was used last is
used first. What ends a call early, a time-out or a cancelled caller, ends its connection too: the
answer that may still come belongs to nobody.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast
from urllib.parse import urlsplit

import httptools

from apis.meta.values import valueclass

IDLE_SECONDS = 60.0
"""How long an idle connection is trusted: what lies in between may have forgotten it."""


@valueclass
class Answer:
    status: int
    body: bytes


class NotConnected(OSError):
    """No connection came about: nothing was sent."""


@valueclass
class _Target:
    host: str
    port: int
    is_tls: bool
    head: bytes
    """The request's head up to its length."""


class _Connection(asyncio.Protocol):
    """One connection, and the call that it carries."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._body: list[bytes] = []
        self._has_begun = False
        self.idle_since = 0.0

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def call(self, request: bytes, seconds: float) -> Answer:
        """Raises TimeoutError, and OSError: a ConnectionError where nothing of an answer came."""
        if self._transport is None:
            raise ConnectionResetError("the connection ended before the request")
        self._waiter = self._loop.create_future()
        self._has_begun = False
        timer = self._loop.call_later(
            seconds, self._end, TimeoutError(f"no answer in {seconds:g}s")
        )
        self._transport.write(request)
        try:
            return await self._waiter
        except BaseException:  # a time-out, a cancelled caller: whatever it is, see the module
            self.close()
            raise
        finally:
            timer.cancel()
            self._waiter = None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _end(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    # -- asyncio calls these ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._has_begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._end(OSError(f"the answer is no HTTP: {error}"))
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._has_begun:
            self._end(OSError(f"the answer broke off: {exc or 'the connection ended'}"))
        else:
            self._end(ConnectionResetError(f"no answer: {exc or 'the connection ended'}"))

    # -- the parser calls these ------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._waiter is None or self._waiter.done():
            self.close()  # nobody has asked for it: it would be taken for the next answer

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        body, self._body = b"".join(self._body), []
        if not self._parser.should_keep_alive():
            self.close()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(Answer(self._parser.get_status_code(), body))


class Connections:
    """What etcd3-py takes for its session. Construct it inside the event loop."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None,
        connect_seconds: float,
        clock: Callable[[], float],
        limit: int = 64,
        socket_path: str = "",
    ) -> None:
        """`limit`: calls at one time; more wait. `socket_path`: where all connections go, if any."""
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._clock = clock
        self._socket_path = socket_path
        self._room = asyncio.Semaphore(limit)
        self._closed = False
        self._idle: dict[tuple[str, int], list[_Connection]] = {}

    async def post(
        self,
        url: str,
        *,
        data: bytes,
        timeout: float,  # noqa: ASYNC109 -- the name is etcd3-py's
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """`timeout`: seconds from the request to the whole answer, and for its turn to come before.

        Raises NotConnected, TimeoutError, and OSError: a ConnectionError where nothing of an answer came.
        """
        del json, headers  # etcd3-py's own: nothing, and its name
        target = _target(url)
        request = b"%b%d\r\n\r\n%b" % (target.head, len(data), data)
        await self._enter(timeout)
        try:
            connection = self._idle_one(target) or await self._open(target)
            answer = await connection.call(request, timeout)
            if self._closed:
                connection.close()
            elif connection.usable:
                connection.idle_since = self._clock()
                self._idle.setdefault((target.host, target.port), []).append(connection)
            return answer
        finally:
            self._room.release()

    async def _enter(self, seconds: float) -> None:
        if not self._room.locked():  # as mostly: no timer is needed
            await self._room.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._room.acquire()
        except TimeoutError as error:
            raise NotConnected(f"too many calls at once for {seconds:g}s") from error

    async def close(self) -> None:
        """End the idle connections; one that carries a call ends with the call."""
        self._closed = True
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    def _idle_one(self, target: _Target) -> _Connection | None:
        idle = self._idle.get((target.host, target.port), [])
        while idle:
            connection = idle.pop()
            if connection.usable and self._clock() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _open(self, target: _Target) -> _Connection:
        try:
            async with asyncio.timeout(self._connect_seconds):
                return await self._connect(target)
        except TimeoutError as error:
            raise NotConnected(f"no connection in {self._connect_seconds:g}s") from error
        except OSError as error:
            raise NotConnected(str(error)) from error

    async def _connect(self, target: _Target) -> _Connection:
        loop = asyncio.get_running_loop()
        if self._socket_path:
            _, connection = await loop.create_unix_connection(_Connection, self._socket_path)
        else:
            tls = self._tls or True if target.is_tls else None
            _, connection = await loop.create_connection(
                _Connection, target.host, target.port, ssl=tls
            )
        return connection


@lru_cache(maxsize=256)
def _target(url: str) -> _Target:
    parts = urlsplit(url)
    host, is_tls = parts.hostname or "127.0.0.1", parts.scheme == "https"
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: "
    return _Target(host, parts.port or (443 if is_tls else 80), is_tls, head.encode())
