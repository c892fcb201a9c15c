"""Calls over kept connections, against a server of these tests that says exactly what they want."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from storage.etcd.connections import IDLE_SECONDS, Answer, Connections, NotConnected
from tests.integration.etcd.certificates import make_certificates

Answering = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def whole(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class Server:
    """Hands each request's body to `answering`, and counts connections and requests."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self.accepted = 0
        self.heads: list[bytes] = []
        self.url = ""
        self.gone = asyncio.Event()
        """A client's end of a connection was seen."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await self._answering(await reader.readexactly(length), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone.set()
        finally:
            writer.close()


@asynccontextmanager
async def serving(answering: Answering, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(answering)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/v3/kv/range"
    try:
        yield server
    finally:
        listening.close()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def connecting(
    *, tls: ssl.SSLContext | None = None, clock: Clock | None = None, limit: int = 64
) -> AsyncIterator[Connections]:
    connections = Connections(tls=tls, connect_seconds=5, clock=clock or Clock(), limit=limit)
    try:
        yield connections
    finally:
        await connections.close()


async def echo(body: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(whole(b"<" + body + b">"))


async def silence(body: bytes, writer: asyncio.StreamWriter) -> None:
    del body, writer


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async with serving(echo) as server, connecting() as connections:
        answers = [await connections.post(server.url, data=b"%d" % n, timeout=5) for n in range(3)]

    assert answers == [Answer(200, b"<%d>" % n) for n in range(3)]
    assert server.accepted == 1
    assert server.heads[0].startswith(b"POST /v3/kv/range HTTP/1.1\r\nHost: 127.0.0.1:")


async def test_calls_at_once_get_connections_of_their_own_and_their_own_answers() -> None:
    async with serving(echo) as server, connecting() as connections:
        answers = await asyncio.gather(
            *(connections.post(server.url, data=b"%d" % n, timeout=5) for n in range(8))
        )

    assert [answer.body for answer in answers] == [b"<%d>" % n for n in range(8)]


async def test_no_more_calls_run_at_once_than_the_limit_allows() -> None:
    async with serving(echo) as server, connecting(limit=2) as connections:
        await asyncio.gather(
            *(connections.post(server.url, data=b"%d" % n, timeout=5) for n in range(8))
        )

    assert server.accepted <= 2


async def test_a_call_whose_turn_does_not_come_in_time_is_not_sent() -> None:
    async with (
        serving(silence) as server,
        connecting(limit=1) as connections,
        asyncio.TaskGroup() as tasks,
    ):
        first = tasks.create_task(connections.post(server.url, data=b"1", timeout=60))
        await asyncio.sleep(0)  # it has begun, and keeps the only place
        with pytest.raises(NotConnected, match="too many calls"):
            await connections.post(server.url, data=b"2", timeout=0.05)
        first.cancel()

    assert len(server.heads) <= 1


@pytest.mark.parametrize("size", [0, 1, 100_000])
async def test_an_answer_in_pieces_is_put_together(size: int) -> None:
    async def pieces(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for start in range(0, size, 30_000):
            part = (b"x" * size)[start : start + 30_000]
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async with serving(pieces) as server, connecting() as connections:
        for _ in range(2):
            answer = await connections.post(server.url, data=b"?", timeout=5)
            assert answer == Answer(200, b"x" * size)

    assert server.accepted == 1


async def test_a_refusal_has_its_status_and_body() -> None:
    async def refuse(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(b"no", status=b"429 Too Many Requests"))

    async with serving(refuse) as server, connecting() as connections:
        assert await connections.post(server.url, data=b"?", timeout=5) == Answer(429, b"no")


async def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    async def last(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(body, b"Connection: close"))

    async with serving(last) as server, connecting() as connections:
        for n in range(2):
            answer = await connections.post(server.url, data=b"%d" % n, timeout=5)
            assert answer.body == b"%d" % n

    assert server.accepted == 2


async def test_a_connection_that_was_idle_for_long_is_not_trusted() -> None:
    clock = Clock()
    async with serving(echo) as server, connecting(clock=clock) as connections:
        await connections.post(server.url, data=b"1", timeout=5)
        clock.now += IDLE_SECONDS
        await connections.post(server.url, data=b"2", timeout=5)

    assert server.accepted == 2


async def test_where_nobody_listens_nothing_was_sent() -> None:
    async with serving(echo) as server:
        pass
    async with connecting() as connections:
        with pytest.raises(NotConnected):
            await connections.post(server.url, data=b"?", timeout=5)


async def test_an_end_before_the_answer_is_told_from_one_in_its_middle() -> None:
    async def hang_up(body: bytes, writer: asyncio.StreamWriter) -> None:
        if body == b"middle":
            writer.write(whole(b"abc")[:-1])
            await writer.drain()
        writer.close()

    async with serving(hang_up) as server, connecting() as connections:
        with pytest.raises(ConnectionError):
            await connections.post(server.url, data=b"before", timeout=5)
        with pytest.raises(OSError, match="broke off") as broken:
            await connections.post(server.url, data=b"middle", timeout=5)

    assert not isinstance(broken.value, ConnectionError)


async def test_what_is_no_http_is_no_answer() -> None:
    async def nonsense(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    async with serving(nonsense) as server, connecting() as connections:
        with pytest.raises(OSError, match="no HTTP"):
            await connections.post(server.url, data=b"?", timeout=5)


async def test_a_late_answer_is_nobodys() -> None:
    async with serving(silence) as server, connecting() as connections:
        with pytest.raises(TimeoutError):
            await connections.post(server.url, data=b"?", timeout=0.05)
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_a_cancelled_call_leaves_no_connection_behind() -> None:
    asked = asyncio.Event()

    async def listen(body: bytes, writer: asyncio.StreamWriter) -> None:
        del body, writer
        asked.set()

    async with serving(listen) as server, connecting() as connections:
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(connections.post(server.url, data=b"?", timeout=60))
            await asyncio.wait_for(asked.wait(), 5)
            call.cancel()
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_what_comes_unasked_is_no_part_of_the_next_answer() -> None:
    async def talk(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(body))
        await writer.drain()
        writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 9\r\n\r\nhalf")

    async with serving(talk) as server, connecting() as connections:
        assert (await connections.post(server.url, data=b"1", timeout=5)).body == b"1"
        await asyncio.wait_for(server.gone.wait(), 5)
        assert (await connections.post(server.url, data=b"2", timeout=5)).body == b"2"

    assert server.accepted == 2


async def test_a_call_that_outlives_the_closing_leaves_no_connection_behind() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def later(body: bytes, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await go_on.wait()
        writer.write(whole(body))

    async with serving(later) as server, connecting() as connections:
        call = asyncio.ensure_future(connections.post(server.url, data=b"?", timeout=5))
        await asked.wait()
        await connections.close()
        go_on.set()
        assert (await call).body == b"?"
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_the_server_has_to_be_who_it_should_be(tmp_path: Path) -> None:
    certificates = tmp_path / "certificates"
    make_certificates(certificates)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    trusting = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    async with serving(echo, own) as server:
        async with connecting(tls=trusting) as connections:
            answer = await connections.post(server.url, data=b"?", timeout=5)
            assert answer == Answer(200, b"<?>")
        async with connecting(tls=ssl.create_default_context()) as connections:
            with pytest.raises(NotConnected):
                await connections.post(server.url, data=b"?", timeout=5)
