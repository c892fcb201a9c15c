"""The one door to etcd3-py: calls and streams over etcd's JSON gateway, with fail-over.

etcd3-py knows one endpoint, detects the server's version with a blocking request in its
constructor, breaks there when etcd is away, and takes a CA only together with a client
certificate. So each endpoint gets a client of its own, told that it speaks to etcd 3.4 or newer
(whose gateway is under /v3), and all share two sessions which have the TLS settings: `connections`
for calls, aiohttp's for streams. Requests are made with `AioClient.call_rpc(method, data=bytes,
raw=True)`: its modelled calls validate and convert every field and cost several times the request.
"""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

import aiohttp
from etcd3 import AioClient, BaseClient

from apis.meta.transaction import TransactionError, Unavailable
from storage.etcd import wire
from storage.etcd.connections import Answer, Connections, NotConnected
from storage.etcd.refusals import Disconnected, Unanswered, Unreachable, refusal
from storage.etcd.socket_path import UNIX, socket_of

_T = TypeVar("_T")


class _Gateway(AioClient):  # type: ignore[misc]  # etcd3-py is untyped
    """etcd3-py's client on a session that it is given; its constructor asks for nothing."""

    def __init__(self, url: str, session: aiohttp.ClientSession | Connections) -> None:
        parts = urlsplit(url)
        host = parts.hostname or "127.0.0.1"
        # Past AioClient's own constructor, which opens a session that only a coroutine can close.
        BaseClient.__init__(
            self,
            host=f"[{host}]" if ":" in host else host,
            port=parts.port or 2379,
            protocol=parts.scheme,
        )
        self.ssl_context = None
        self.session = session
        self._urls: dict[str, str] = {}

    def _retrieve_version(self) -> None:
        """Nothing is asked: every etcd that is supported speaks the same protocol."""

    def _verify_version(self) -> None:
        """An older etcd answers 404, which `refusal` explains."""

    def _get_prefix(self) -> None:
        self.api_prefix = "/v3"

    def _url(self, method: str, prefix: bool = True) -> str:
        """Put together once for each of a few methods."""
        url = self._urls.get(method)
        if url is None:
            url = self._urls[method] = super()._url(method, prefix)
        return url


@dataclass(slots=True, eq=False)
class _Endpoint:
    url: str
    calls: _Gateway
    streams: _Gateway
    aside_until: float = 0.0


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    calls: int
    failures: int
    endpoints_aside: int


def tls_context(*, ca_file: str = "", cert_file: str = "", key_file: str = "") -> ssl.SSLContext:
    """How to check etcd's certificate (without `ca_file`: by the system's CAs) and which to show.

    Raises OSError that names the file which cannot be used.
    """
    files = ca_file
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
        if cert_file:
            files = f"{cert_file} and {key_file}"
            context.load_cert_chain(cert_file, key_file or None)
    except OSError as error:
        raise OSError(f"{files}: {error}") from error
    return context


class Client:
    """etcd behind one or several endpoints. To be constructed and closed inside the event loop.

    An endpoint `unix:///path` is a socket; it is the only one then.

    An endpoint that failed is set aside for `aside_seconds`; while others are left, they are asked.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        tls: ssl.SSLContext | None = None,
        timeout_seconds: float = 5.0,
        connect_seconds: float = 2.0,
        aside_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises OSError where a socket's directory cannot be opened."""
        if not endpoints:
            raise ValueError("at least one etcd endpoint is needed")
        self._timeout_seconds = timeout_seconds
        self._connect_seconds = connect_seconds
        self._aside_seconds = aside_seconds
        self._clock = clock
        self._calls = 0
        self._failures = 0
        self._socket = socket_of(endpoints)
        path = self._socket.path if self._socket is not None else ""
        self._connections = Connections(
            tls=tls, connect_seconds=connect_seconds, clock=clock, socket_path=path
        )
        self._session = aiohttp.ClientSession(
            connector=_connector(path, tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        self._endpoints = [self._endpoint(url, tls is not None) for url in endpoints]

    def _endpoint(self, url: str, has_tls: bool) -> _Endpoint:
        address = _normal_url(url, has_tls)
        return _Endpoint(
            address if self._socket is None else url,
            _Gateway(address, self._connections),
            _Gateway(address, self._session),
        )

    async def close(self) -> None:
        """End all connections."""
        await self._connections.close()
        await self._session.close()
        if self._socket is not None:
            self._socket.close()

    def statistics(self) -> ClientStatistics:
        now = self._clock()
        aside = sum(endpoint.aside_until > now for endpoint in self._endpoints)
        return ClientStatistics(self._calls, self._failures, aside)

    async def call(
        self, method: str, body: bytes, *, timeout_seconds: float | None = None
    ) -> wire.Message:
        """Make a request that may write: it is given to a second endpoint only when the first was
        never reached. Raises Unanswered, and what etcd's refusal means."""
        error = Unavailable("no etcd endpoint")
        for endpoint in self._by_preference():
            try:
                return await self._request(endpoint, method, body, timeout_seconds)
            except Unreachable as failure:
                error = failure
        raise error

    async def ask(
        self, method: str, body: bytes, *, timeout_seconds: float | None = None
    ) -> wire.Message:
        """Make a request that only reads: any endpoint's failure leads to the next one.

        Raises Unavailable, and what etcd's refusal means.
        """
        return await self._anywhere(
            lambda endpoint: self._request(endpoint, method, body, timeout_seconds)
        )

    @asynccontextmanager
    async def stream(self, method: str, body: bytes) -> AsyncIterator["Stream"]:
        """Open a stream on the first endpoint that takes it. Raises Unavailable."""
        stream = await self._anywhere(lambda endpoint: self._open(endpoint, method, body))
        try:
            yield stream
        finally:
            stream.close()

    async def _anywhere(self, ask: Callable[[_Endpoint], Awaitable[_T]]) -> _T:
        """What `ask` gets from the first endpoint that answers. Raises Unavailable, and refusals."""
        error: Exception | None = None
        for endpoint in self._by_preference():
            for _ in range(2):
                try:
                    return await ask(endpoint)
                except Disconnected as failure:
                    # Likely a connection kept from before a restart: once more, on a new one.
                    error = failure
                except (Unanswered, Unreachable) as failure:
                    error = failure
                    break
        raise Unavailable(str(error)) from error

    def _by_preference(self) -> Sequence[_Endpoint]:
        """The order in which to try: as configured, those set aside last, the longest aside first."""
        if len(self._endpoints) == 1:
            return self._endpoints
        now = self._clock()
        return sorted(self._endpoints, key=lambda e: e.aside_until if e.aside_until > now else 0.0)

    def _set_aside(self, endpoint: _Endpoint) -> None:
        self._failures += 1
        endpoint.aside_until = self._clock() + self._aside_seconds

    async def _request(
        self, endpoint: _Endpoint, method: str, body: bytes, timeout_seconds: float | None
    ) -> wire.Message:
        """One request to one endpoint. Raises Unreachable and Unanswered besides refusals."""
        self._calls += 1
        try:
            answer: Answer = await endpoint.calls.call_rpc(
                method, data=body, raw=True, timeout=timeout_seconds or self._timeout_seconds
            )
        except (OSError, TimeoutError) as error:
            self._set_aside(endpoint)
            raise _failure(endpoint.url, error) from error
        if answer.status == 200:
            message: wire.Message = wire.decode(answer.body)
            return message
        refused = refusal(answer.status, answer.body)
        if isinstance(refused, Unanswered):
            self._set_aside(endpoint)
        raise refused

    async def _open(self, endpoint: _Endpoint, method: str, body: bytes) -> "Stream":
        """A stream, its headers read. Raises like `_request`."""
        self._calls += 1
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._connect_seconds)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response: aiohttp.ClientResponse = await endpoint.streams.call_rpc(
                    method, data=body, raw=True, timeout=timeout
                )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self._set_aside(endpoint)
            raise _failure(endpoint.url, error) from error
        if response.status == 200:
            return Stream(response, partial(self._set_aside, endpoint))
        try:
            async with asyncio.timeout(self._timeout_seconds):
                data = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _failure(endpoint.url, error) from error
        finally:
            response.close()
        raise refusal(response.status, data)


class Stream:
    """The answers of a streaming call. One task at a time may wait in `next`."""

    def __init__(self, response: aiohttp.ClientResponse, distrust: Callable[[], None]) -> None:
        self._response = response
        self._pieces: list[bytes] = []
        self._lines: deque[bytes] = deque()
        self.distrust = distrust
        """Call it when the stream misbehaves: its endpoint is set aside."""

    async def next(self) -> wire.Message:
        """The next answer. Cancelled while waiting: nothing is lost. Raises Unavailable at the end.

        One answer is one line, which may be longer than any limit of aiohttp's line reader.
        """
        while not self._lines:
            try:
                chunk = await self._response.content.readany()
            except (aiohttp.ClientError, OSError) as error:
                self.distrust()
                raise Unavailable(f"etcd's stream broke: {_words(error)}") from error
            if not chunk:
                self.distrust()
                raise Unavailable("etcd ended the stream")
            self._take(chunk)
        message = wire.decode(self._lines.popleft())
        if "error" in message:
            refused = message["error"]
            raise refusal(int(refused.get("http_code", 500)), wire.encode(refused))
        result: wire.Message = message["result"]
        return result

    def close(self) -> None:
        """End the stream and its connection."""
        self._response.close()

    def _take(self, chunk: bytes) -> None:
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            whole = b"".join((*self._pieces, line)) if self._pieces else line
            self._pieces.clear()
            if whole:
                self._lines.append(whole)
        if rest:
            self._pieces.append(rest)


def _failure(url: str, error: Exception) -> TransactionError:
    """What a failed exchange means: only where no connection came about, surely nothing was done."""
    words = f"etcd at {url}: {_words(error)}"
    if isinstance(
        error, NotConnected | aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError
    ):
        return Unreachable(words)
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionError):
        return Disconnected(words)
    return Unanswered(words)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _connector(socket_path: str, tls: ssl.SSLContext | None) -> aiohttp.BaseConnector:
    if socket_path:
        return aiohttp.UnixConnector(socket_path, limit=64)
    return aiohttp.TCPConnector(ssl=tls if tls is not None else True, limit=64)


def _normal_url(url: str, has_tls: bool) -> str:
    """`host:port` and trailing slashes are accepted, as etcdctl does."""
    if url.startswith(UNIX):
        return "http://localhost"  # for the request's head alone
    if "://" not in url:
        url = f"{'https' if has_tls else 'http'}://{url}"
    return url.rstrip("/")
