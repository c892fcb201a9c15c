"""A proxy before etcd's gateway that sends each write twice, as a retrying middlebox does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, Self

import aiohttp
from aiohttp import web

_WRITES = (b'"request_put"', b'"request_delete_range"')
_REQUEST_BYTES = 2 << 20
_ANSWER_SECONDS = 10


class DoublingProxy:
    """Answers with what etcd said to the `first` or the `second` copy, both of which arrive."""

    def __init__(
        self, upstream_port: int, *, answers: Literal["first", "second"] = "second"
    ) -> None:
        self._upstream = f"http://127.0.0.1:{upstream_port}"
        self._answers = answers
        self.writes: list[bytes] = []
        """The Txns that were sent twice, in order."""
        self.before_second = asyncio.Event()
        """While it is cleared, second copies are held back."""
        self.before_second.set()
        self.holding = asyncio.Event()
        """Set when a second copy was held back: the first was applied, or was not."""
        self.port = 0
        self._session: aiohttp.ClientSession | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def deliver_late(self, write: bytes) -> bool:
        """Let one more copy of a write arrive; whether it was applied."""
        return b'"succeeded":true' in await self._post("/v3/kv/txn", write)

    async def _post(self, path: str, body: bytes) -> bytes:
        assert self._session is not None
        async with (
            asyncio.timeout(_ANSWER_SECONDS),
            self._session.post(self._upstream + path, data=body) as answer,
        ):
            return await answer.read()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if request.path == "/v3/kv/txn" and any(words in body for words in _WRITES):
            self.writes.append(body)
            first = await self._post(request.path, body)
            if not self.before_second.is_set():
                self.holding.set()
                await self.before_second.wait()
            second = await self._post(request.path, body)
            text = first if self._answers == "first" else second
            status = 200 if b'"header"' in text else 503
            return web.Response(body=text, status=status, content_type="application/json")
        assert self._session is not None
        async with self._session.post(self._upstream + request.path, data=body) as answer:
            response = web.StreamResponse(
                status=answer.status, headers={"Content-Type": "application/json"}
            )
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    @asynccontextmanager
    async def run(self) -> AsyncIterator[Self]:
        """It listens within the block, on a free loopback port."""
        app = web.Application(client_max_size=_REQUEST_BYTES)
        app.router.add_post("/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=2)
        async with aiohttp.ClientSession(timeout=timeout) as self._session:
            await runner.setup()
            try:
                site = web.TCPSite(runner, "127.0.0.1", 0)
                await site.start()
                self.port = runner.addresses[0][1]
                yield self
            finally:
                await runner.cleanup()
