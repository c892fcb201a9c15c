"""HTTP/1.1 over TLS, one request at a time on one connection, as cheap as Python can: client and
server share the machine's cores."""

import socket
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hack.bench.wrk import TOKEN
from tests.harness.server import GROUP_PATH, ServerProcess

_CHUNK = 1 << 18
_HEADERS_END = b"\r\n\r\n"
_CHUNKS_END = b"0\r\n\r\n"
"""Cannot end a piece of a JSON body, which has no bare line feeds of its own."""
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, for another process."""

    port: int
    authority: Path

    @classmethod
    def of(cls, server: ServerProcess) -> "Address":
        return cls(server.port, server.data_dir / "ca.crt")

    def connect(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=str(self.authority))
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname="127.0.0.1")


@dataclass(frozen=True, slots=True)
class Answer:
    """Seconds since the request was sent, to the first byte and to the last; `size` with headers."""

    status: int
    first: float
    last: float
    size: int


def head(method: str, path: str, *, headers: str = "", length: int = 0) -> bytes:
    """A request's head; `path` lies below the group's version; `headers` are whole lines."""
    body = f"Content-Length: {length}\r\n" if length else ""
    return (
        f"{method} {GROUP_PATH}/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {TOKEN}\r\n{headers}{body}\r\n"
    ).encode()


class Connection:
    """Use it as a context manager, from one thread."""

    def __init__(self, address: Address) -> None:
        self._socket = address.connect()
        self._buffer = bytearray(_CHUNK)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def get(self, path: str) -> Answer:
        return self.exchange(head("GET", path))

    def patch(self, path: str, body: bytes) -> Answer:
        """A merge patch."""
        kind = "Content-Type: application/merge-patch+json\r\n"
        return self.exchange(head("PATCH", path, headers=kind, length=len(body)) + body)

    def exchange(self, request: bytes) -> Answer:
        start = time.perf_counter()
        self._socket.sendall(request)
        begin = b""
        while _HEADERS_END not in begin:
            begin += self._receive()
        first = time.perf_counter() - start
        headers, _, body = begin.partition(_HEADERS_END)
        size, length = len(begin), _content_length(headers)
        if length is None:
            end = body[-len(_CHUNKS_END) :]
            while not end.endswith(_CHUNKS_END):
                piece = self._receive()
                size += len(piece)
                end = (end + piece)[-len(_CHUNKS_END) :]
        else:
            whole = len(headers) + len(_HEADERS_END) + length
            while size < whole:
                size += len(self._receive())
        last = time.perf_counter() - start
        return Answer(int(headers.split(None, 2)[1]), first, last, size)

    def _receive(self) -> bytes:
        count = self._socket.recv_into(self._buffer)
        if not count:
            raise ConnectionError("the server closed the connection")
        return bytes(memoryview(self._buffer)[:count])


def _content_length(headers: bytes) -> int | None:
    for line in headers.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return None
