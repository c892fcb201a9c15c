"""A TCP proxy that treats connections badly at random: slow, cut in the middle, late."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

_CHUNK = 1 << 14


@dataclass(slots=True)
class Weather:
    """What happens to each piece of an answer; all zero: nothing.

    `delay_seconds`: every piece is held up to so long. `cut`: chance that a connection is cut in
    the middle of a piece. `lose`: that it is cut before the piece. `stuck`: that the piece and all
    after it come `stuck_seconds` later, when the client has given up.
    """

    delay_seconds: float = 0.0
    cut: float = 0.0
    lose: float = 0.0
    stuck: float = 0.0
    stuck_seconds: float = 0.0


FAIR = Weather()


class ChaosProxy:
    """Set `weather` at any time. `is_blocked` is asked of each connection's first bytes."""

    def __init__(self, upstream_port: int, seed: int, *, port: int = 0) -> None:
        self.weather = FAIR
        self.is_blocked: Callable[[bytes], bool] = lambda _head: False
        self.port = port
        self.troubles = 0
        """Connections that were cut or held up."""
        self._upstream_port = upstream_port
        self._rng = random.Random(seed)
        self._server: asyncio.Server | None = None
        self._links: dict[asyncio.Task[None], bytes] = {}

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        links = tuple(self._links)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    def cut_blocked(self) -> None:
        """End the connections that `is_blocked` now objects to."""
        for link, head in tuple(self._links.items()):
            if self.is_blocked(head):
                link.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links[task] = b""
        upstream: asyncio.StreamWriter | None = None
        try:
            head = await reader.read(_CHUNK)
            self._links[task] = head
            if not head or self.is_blocked(head):
                return
            answers, upstream = await asyncio.open_connection("127.0.0.1", self._upstream_port)
            upstream.write(head)
            async with asyncio.TaskGroup() as group:
                requests = group.create_task(self._requests(reader, upstream))
                await self._answers(answers, writer)
                requests.cancel()
        except* OSError:
            pass
        except* asyncio.CancelledError:
            pass  # cut, by the test or by its end
        finally:
            del self._links[task]
            for side in (writer, upstream):
                if side is not None:
                    side.transport.abort()

    @staticmethod
    async def _requests(reader: asyncio.StreamReader, upstream: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(_CHUNK):
            upstream.write(chunk)
            await upstream.drain()
        upstream.transport.abort()

    async def _answers(self, answers: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while chunk := await answers.read(_CHUNK):
            weather, rng = self.weather, self._rng
            if weather is not FAIR:
                roll = rng.random()
                if roll < weather.cut:
                    client.write(chunk[: len(chunk) // 2])
                    await client.drain()
                    self.troubles += 1
                    return
                if roll < weather.cut + weather.lose:
                    self.troubles += 1
                    return
                if roll < weather.cut + weather.lose + weather.stuck:
                    self.troubles += 1
                    await asyncio.sleep(weather.stuck_seconds)
                await asyncio.sleep(weather.delay_seconds * rng.random())
            client.write(chunk)
            await client.drain()


@asynccontextmanager
async def chaos_proxy(
    upstream_port: int, *, seed: int = 1, port: int = 0
) -> AsyncIterator[ChaosProxy]:
    proxy = ChaosProxy(upstream_port, seed, port=port)
    await proxy.listen()
    try:
        yield proxy
    finally:
        await proxy.close()
