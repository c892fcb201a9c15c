"""What the listener's stop does with those who are not done: in a request, or in a handshake."""

import asyncio
import ssl

import aiohttp
import pytest

from apis.meta.codec import decode_json, encode
from tests.builders import a_quota
from tests.fakes.http_server import QUOTAS, HttpServer

pytestmark = pytest.mark.integration

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class LateClient:
    """One that aiohttp does not see while the server stops.

    Opens a connection, and keeps back the last flight of its handshake.
    """

    def __init__(self, server: HttpServer) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = server.client_ssl().wrap_bio(
            self._incoming, self._outgoing, server_hostname="127.0.0.1"
        )
        self._port = server.port
        self._streams: Streams | None = None

    async def begin(self) -> None:
        self._streams = reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                writer.write(self._outgoing.read())
                await self._receive(reader)
            else:
                return

    async def create(self) -> bytes:
        """Finish the handshake and send a create; all that is said until the connection ends."""
        assert self._streams is not None
        reader, writer = self._streams
        body = encode(a_quota(name="late", namespace="ns"))
        head = (
            f"POST {QUOTAS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._tls.write(head.encode() + body)
        writer.write(self._outgoing.read())
        try:
            return await self._heard(reader)
        finally:
            writer.close()

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        async with asyncio.timeout(10):
            piece = await reader.read(65536)
        if piece:
            self._incoming.write(piece)
        else:
            self._incoming.write_eof()  # and TLS says so; more reads would return at once for ever

    async def _heard(self, reader: asyncio.StreamReader) -> bytes:
        said = b""
        while True:
            try:
                piece = self._tls.read(65536)
            except ssl.SSLWantReadError:
                await self._receive(reader)
            else:
                if not piece:  # TLS was closed
                    return said
                said += piece


async def test_a_late_handshake_is_served_while_the_server_writes_and_the_connection_ends(
    server,
) -> None:
    late = LateClient(server)
    await late.begin()

    await server.listener.stop(1.0)
    said = await late.create()

    assert said.startswith(b"HTTP/1.1 201")
    assert b"Connection: close\r\n" in said


async def test_a_late_handshake_is_told_to_come_again_once_the_server_writes_no_more(
    server,
) -> None:
    late = LateClient(server)
    await late.begin()

    await server.listener.stop(1.0)
    server.mutations.cut_off()
    head, _, body = (await late.create()).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 503")
    assert b"Retry-After: 1" in head
    assert b"Connection: close" in head
    assert decode_json(body).value["reason"] == "ServiceUnavailable"
    assert not server.quotas.records


async def test_requests_that_go_on_get_the_grace_once(server, monkeypatch) -> None:
    grace_seconds = 2.0
    begun = asyncio.Event()

    async def create(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(server.quotas, "create", create)
    loop = asyncio.get_running_loop()
    client = loop.create_task(server.session.post(QUOTAS, json=a_quota(name="q", namespace="ns")))
    await begun.wait()

    before = loop.time()
    await server.listener.stop(grace_seconds)
    took = loop.time() - before
    server.mutations.cut_off()

    with pytest.raises(aiohttp.ClientConnectionError):
        await client
    assert 1 <= took / grace_seconds < 2  # aiohttp's own way takes two, and a little
