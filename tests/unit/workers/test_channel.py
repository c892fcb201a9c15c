"""Messages between two processes; here both ends are in one."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest_asyncio
import uvloop

from quotaapi.server.channel import Channel, Message, pair


class End:
    """One end, and what it heard."""

    def __init__(self, end: socket.socket) -> None:
        self.channel = Channel(end)
        self.heard: asyncio.Queue[tuple[Message, socket.socket | None]] = asyncio.Queue()
        self.ended = asyncio.Event()
        self.channel.listen(lambda *heard: self.heard.put_nowait(heard), self.ended.set)

    async def next(self) -> tuple[Message, socket.socket | None]:
        async with asyncio.timeout(5):
            return await self.heard.get()


@pytest_asyncio.fixture
async def ends() -> AsyncIterator[tuple[End, End]]:
    one, other = map(End, pair())
    yield one, other
    one.channel.close()
    other.channel.close()


async def test_messages_arrive_whole_and_in_order(ends) -> None:
    one, other = ends

    assert all(one.channel.send({"n": n, "text": "x" * 1000}) for n in range(20))

    assert [(await other.next())[0]["n"] for _ in range(20)] == list(range(20))


async def test_a_connection_comes_along_and_works(ends) -> None:
    one, other = ends
    near, far = socket.socketpair()
    with near:
        assert one.channel.send({"take": True}, far)
        far.close()
        message, received = await other.next()
        assert message == {"take": True}
        assert received is not None
        with received:
            received.sendall(b"hello")
            assert near.recv(5) == b"hello"


async def test_the_end_is_seen_after_the_last_message_and_sending_fails_then(ends) -> None:
    one, other = ends
    one.channel.send({"last": 1})
    one.channel.close()

    assert (await other.next())[0] == {"last": 1}
    async with asyncio.timeout(5):
        await other.ended.wait()
    assert other.channel.send({"x": 1}) is False
    assert one.channel.send({"x": 1}) is False


def test_the_end_is_seen_although_the_other_side_left_messages_unread() -> None:
    async def one_is_left_alone() -> None:
        mine, theirs = pair()
        one = End(mine)
        assert one.channel.send({"never": "read"})
        theirs.close()
        async with asyncio.timeout(5):
            while not one.ended.is_set():
                one.channel.send({"a": "report"})
                await asyncio.sleep(0)

    # The workers' loop, which does not watch a socket any more that was reset.
    uvloop.run(one_is_left_alone())


async def test_who_is_behind_is_not_waited_for(ends) -> None:
    one, _ = ends
    text = "x" * 10_000

    sent = [one.channel.send({"text": text}) for _ in range(200)]

    assert sent[0] is True
    assert sent[-1] is False


async def test_a_message_that_no_packet_holds_is_not_sent(ends, caplog) -> None:
    one, other = ends

    assert one.channel.send({"text": "x" * 300_000}) is False
    assert "too large" in caplog.text
    assert one.channel.send({"text": "x" * 150_000}) is True
    assert len((await other.next())[0]["text"]) == 150_000
