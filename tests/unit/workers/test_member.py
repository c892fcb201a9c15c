"""A worker's side of the supervisor, which this test plays."""

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio

from apis.meta.errors import StatusError
from quotaapi.server import member
from quotaapi.server.channel import Channel, Message, pair
from quotaapi.server.handover import Handover
from quotaapi.server.member import Member


class Supervisor:
    """Hears what a member says that takes no connections: it has not joined, or has left."""

    def __init__(self) -> None:
        mine, theirs = pair()
        self.channel = Channel(mine)
        self.heard: asyncio.Queue[tuple[Message, socket.socket | None]] = asyncio.Queue()
        self.channel.listen(lambda *heard: self.heard.put_nowait(heard), lambda: None)
        self.stop = asyncio.Event()
        self.member = Member(Handover(0, theirs.detach()), self.stop)
        self.member.attach()

    async def next(self) -> tuple[Message, socket.socket | None]:
        async with asyncio.timeout(5):
            return await self.heard.get()


@pytest_asyncio.fixture
async def supervisor() -> AsyncIterator[Supervisor]:
    made = Supervisor()
    yield made
    made.channel.close()
    made.member._channel.close()


async def test_who_does_not_serve_yet_is_heard_of(supervisor) -> None:
    running = asyncio.ensure_future(supervisor.member.run())
    message, _ = await supervisor.next()
    running.cancel()

    assert message == {"taken": 0, "open": 0, "serving": False, "ready": False}


async def test_a_connection_that_comes_too_late_goes_back_and_counts_as_taken(supervisor) -> None:
    near, far = socket.socketpair()
    with near, far:
        assert supervisor.channel.send({"take": True}, far)
        message, back = await supervisor.next()
        assert (message["taken"], message["serving"]) == (1, False)
        assert back is not None
        with back:
            back.sendall(b"alive")
            assert near.recv(5) == b"alive"


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


async def test_a_connection_for_which_no_descriptor_is_left_counts_as_taken(
    supervisor, caplog
) -> None:
    near, far = socket.socketpair()
    with near, far:
        with no_descriptor_left():
            assert supervisor.channel.send({"take": True}, far)
            supervisor.member._channel._read()
        supervisor.member._report()
        message, back = await supervisor.next()
    assert (message["taken"], back) == (1, None)
    assert "a connection is lost" in caplog.text


async def test_what_cannot_go_back_was_never_taken_and_neither_was_what_follows(supervisor) -> None:
    text = "x" * 10_000
    while supervisor.member._channel.send({"text": text}):
        pass
    ends = [socket.socketpair() for _ in range(2)]
    for number, (_, far) in enumerate(ends):
        assert supervisor.channel.send({"take": True}, far)
        supervisor.member._channel._read()
        if not number:  # the supervisor has read what was in the way
            while "text" in (await supervisor.next())[0]:
                if supervisor.heard.empty():
                    break

    supervisor.member._report()

    while "text" in (message := (await supervisor.next())[0]):
        pass
    assert message["taken"] == 0
    for near, far in ends:
        near.close()
        far.close()


async def test_who_asks_for_numbers_gets_what_the_supervisor_tells(supervisor) -> None:
    asking = [asyncio.ensure_future(supervisor.member.gather()) for _ in range(2)]
    message, _ = await supervisor.next()
    supervisor.channel.send({"totals": []})

    assert message == {"ask": "totals"}
    assert await asyncio.gather(*asking) == [[], []]
    assert supervisor.heard.empty()


async def test_a_scrape_is_refused_where_the_supervisor_does_not_answer(
    supervisor, monkeypatch
) -> None:
    monkeypatch.setattr(member, "TOTALS_SECONDS", 0.01)

    with pytest.raises(StatusError) as refusal:
        await supervisor.member.gather()

    assert refusal.value.code == 503


async def test_the_supervisors_end_is_the_workers(supervisor, monkeypatch) -> None:
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda *_: None)
    supervisor.channel.close()

    await supervisor.stop.wait()
