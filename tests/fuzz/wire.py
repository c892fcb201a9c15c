"""Bytes on a TLS connection: a client that sends what no client library would."""

import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse

from apis.meta import codec
from apis.meta.transaction import Object

SECONDS = 15.0
"""The server's own time-outs are shorter; an answer that takes longer is a hang."""

Headers = Sequence[tuple[str, str | bytes]]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def value(self) -> Object:
        """A JSON object; empty for everything else."""
        try:
            found = codec.decode_json(self.body).value
        except codec.DecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    def __repr__(self) -> str:
        return f"<{self.status} {self.body[:400]!r}>"


class Wire:
    """One connection at a time, kept as long as the server keeps it."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self._port = port
        self._context = context
        self._socket: ssl.SSLSocket | None = None

    def send(
        self, data: bytes, *, method: str = "GET", streams: bool = False, seconds: float = SECONDS
    ) -> Answer | None:
        """The answer to what is sent; None where the server closes without one.

        `streams`: the answer has no end, its beginning is enough. Raises TimeoutError for a hang.
        """
        fresh = self._socket is None
        self._connected().settimeout(seconds)
        answer = self._once(data, method, streams=streams)
        if answer is None and not fresh:
            # The server may have closed the kept connection in the same moment.
            self._connected().settimeout(seconds)
            answer = self._once(data, method, streams=streams)
        return answer

    def start(self, data: bytes) -> None:
        """Send, and wait for nothing."""
        self._connected().sendall(data)

    def fresh(self) -> ssl.SSLSocket:
        """A connection of its own, which its caller closes."""
        plain = socket.create_connection(("127.0.0.1", self._port), SECONDS)
        return self._context.wrap_socket(plain, server_hostname="127.0.0.1")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _once(self, data: bytes, method: str, *, streams: bool) -> Answer | None:
        connection = self._connected()
        try:
            connection.sendall(data)
            with closing(HTTPResponse(connection, method=method)) as response:
                answer, keep = _read(response, streams=streams)
        except TimeoutError:
            self.close()
            raise
        except (OSError, HTTPException):
            self.close()
            return None
        if not keep:
            self.close()
        return answer

    def _connected(self) -> ssl.SSLSocket:
        if self._socket is None:
            self._socket = self.fresh()
        return self._socket


def _read(response: HTTPResponse, *, streams: bool) -> tuple[Answer, bool]:
    """The answer, and whether the connection may be used again."""
    response.begin()
    headers = {name.lower(): value for name, value in response.getheaders()}
    if streams and response.status == 200:
        return Answer(response.status, headers, b""), False
    return Answer(response.status, headers, response.read()), not response.will_close


def request(method: str, target: str, headers: Headers = (), body: bytes = b"") -> bytes:
    """The bytes of a request that says how long it is, whatever else it says."""
    lines = [f"{method} {target} HTTP/1.1".encode(), b"Host: fuzz"]
    lines += [
        name.encode() + b": " + (value if isinstance(value, bytes) else value.encode())
        for name, value in headers
    ]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}".encode())
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
