"""A TCP proxy that loses answers, holds back requests, stalls, and cuts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.harness.ports import bound

_CHUNK = 1 << 16


class _Link:
    """A client's connection and what the proxy made of it."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.upstream: asyncio.StreamWriter | None = None
        self.loses_answer = False
        self.held: list[bytes] | None = None

    def cut(self) -> None:
        for side in (self.client, self.upstream):
            if side is not None:
                side.transport.abort()


class TcpProxy:
    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._links: set[_Link] = set()
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._lose_answers_to = b""
        self._hold = b""
        self._held: list[bytes] = []
        self.lost = asyncio.Event()
        """Set when an answer was lost: the request was done."""
        self.holding = asyncio.Event()
        """Set when a request was held back."""
        self.connections = 0
        self._socket = bound()
        self.port: int = self._socket.getsockname()[1]

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def lose_answer_to(self, words: bytes) -> None:
        """The next request that contains `words` is forwarded; its answer is lost and the connection cut."""
        self.lost.clear()
        self._lose_answers_to = words

    def hold_request(self, words: bytes) -> None:
        """The next request that contains `words` does not go on until `deliver_held`."""
        self.holding.clear()
        self._hold = words

    async def deliver_held(self) -> bytes:
        """Let the request that was held back arrive, long after its sender gave up; its answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        try:
            writer.writelines(self._held)
            await writer.drain()
            async with asyncio.timeout(10):
                return await reader.read(_CHUNK)
        finally:
            writer.close()

    def stall(self) -> None:
        """Connections stay open and nothing comes through any more, in either direction."""
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    def lead_to(self, upstream_port: int) -> None:
        """New connections go elsewhere; those there are are cut."""
        self._upstream_port = upstream_port
        self.cut()

    def cut(self) -> None:
        """End every connection at once; new ones are accepted."""
        for link in tuple(self._links):
            link.cut()

    async def refuse(self) -> None:
        """Refuse connections and cut those there are. The port stays taken, without a listener."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._socket = bound(self.port)
        self.cut()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=self._socket)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self.flow()
        await self.refuse()
        self._socket.close()
        while self._links:
            self.cut()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        link = _Link(writer)
        self._links.add(link)
        try:
            from_upstream, link.upstream = await asyncio.open_connection(
                "127.0.0.1", self._upstream_port
            )
            async with asyncio.TaskGroup() as group:
                group.create_task(self._requests(link, reader, link.upstream))
                group.create_task(self._answers(link, from_upstream))
        except* OSError:
            pass
        finally:
            self._links.discard(link)
            link.cut()

    async def _requests(
        self, link: _Link, reader: asyncio.StreamReader, upstream: asyncio.StreamWriter
    ) -> None:
        while chunk := await reader.read(_CHUNK):
            await self._flowing.wait()
            if self._lose_answers_to and self._lose_answers_to in chunk:
                self._lose_answers_to, link.loses_answer = b"", True
            if self._hold and self._hold in chunk:
                self._hold, self._held = b"", []
                link.held = self._held
                self.holding.set()
            if link.held is not None:
                link.held.append(chunk)
                continue
            upstream.write(chunk)
            await upstream.drain()
        link.cut()

    async def _answers(self, link: _Link, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(_CHUNK):
            await self._flowing.wait()
            if link.loses_answer:
                self.lost.set()
                break
            link.client.write(chunk)
            await link.client.drain()
        link.cut()


@asynccontextmanager
async def tcp_proxy(upstream_port: int) -> AsyncIterator[TcpProxy]:
    proxy = TcpProxy(upstream_port)
    await proxy.listen()
    try:
        yield proxy
    finally:
        await proxy.close()
