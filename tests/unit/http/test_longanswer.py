"""Long answers: what equal ones share, how they wait for their clients, and what they may take."""

import asyncio
import gc
import gzip
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from apis.meta.errors import StatusError
from apis.meta.transaction import Record
from quotaapi.endpoints.encoding import plain_body
from quotaapi.endpoints.longanswer import PIECE_BYTES, Body, Outgoing, Piece, as_pieces, of_parts
from quotaapi.registry.heavy import Heavy

if TYPE_CHECKING:
    from aiohttp import web

HEAD, TAIL = b'{"items":[', b"]}"


class Client:
    """A connection that takes what it is sent once `reads` is set; `request` is its request."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.sent: list[bytes | memoryview] = []
        self.request = cast("web.BaseRequest", SimpleNamespace(writer=self))

    async def write(self, data: bytes | memoryview) -> None:
        self.sent.append(data)

    async def drain(self) -> None:
        await self.reads.wait()

    def got(self) -> bytes:
        return b"".join(self.sent)


def records(count: int, size: int = 2_000) -> list[Record]:
    text = "x" * size
    return [
        Record(f"k{n}", 10**n, 7, f'{{"metadata":{{"name":"n{n}","text":"{text}"}}}}'.encode())
        for n in range(count)
    ]


async def plain(count: int) -> Body:
    return await plain_body(HEAD, records(count), TAIL)


def whole(count: int) -> bytes:
    return HEAD + b",".join(record.json() for record in records(count)) + TAIL


async def until_idle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize("count", [0, 1, 30, 200])
async def test_a_list_is_the_same_in_pieces_and_its_length_is_known(count: int) -> None:
    body = await plain(count)

    assert b"".join([piece.data async for piece in body]) == whole(count)
    assert body.length == len(whole(count))


async def test_a_client_that_does_not_read_is_sent_one_piece() -> None:
    client, outgoing = Client(), Outgoing(Heavy().turn)
    made: list[int] = []

    async def make(index: int) -> bytes:
        made.append(index)
        return b"x" * PIECE_BYTES

    writing = asyncio.ensure_future(outgoing.write(client.request, aiter(Body(100, make))))
    await until_idle()
    assert made == [0]
    assert len(client.got()) == PIECE_BYTES

    client.reads.set()
    await writing
    assert len(client.got()) == 100 * PIECE_BYTES


@pytest.mark.parametrize("packed", [False, True])
async def test_answers_that_are_at_one_piece_hold_the_same_bytes(*, packed: bool) -> None:
    body, outgoing = await plain(200), Outgoing(Heavy().turn)
    clients = [Client() for _ in range(3)]
    writing = [
        asyncio.ensure_future(outgoing.write(each.request, aiter(body), gzip=packed))
        for each in clients
    ]
    await until_idle()
    if packed:  # its header
        for each in clients:
            each.reads.set()
        await asyncio.gather(*writing)
        assert [gzip.decompress(each.got()) for each in clients] == [whole(200)] * 3
        return
    first = {id(each.sent[0]) for each in clients}
    assert len(first) == 1

    for task in writing:
        task.cancel()
    await asyncio.wait(writing)
    writing.clear()
    del task  # its error holds the frames
    for each in clients:
        each.sent.clear()
    await until_idle()
    gc.collect()
    assert not body._pieces, "nobody writes it, and it is kept"


async def test_those_who_wait_for_their_clients_keep_no_turn() -> None:
    stalled, ready, outgoing = Client(), Client(), Outgoing(Heavy().turn)
    ready.reads.set()
    body = await plain(200)
    waiting = asyncio.ensure_future(outgoing.write(stalled.request, aiter(body)))
    await until_idle()

    async with asyncio.timeout(5):
        await outgoing.write(ready.request, aiter(body))

    assert ready.got() == whole(200)
    waiting.cancel()


async def test_no_more_than_a_piece_is_written_at_once_and_nothing_is_copied() -> None:
    client, large = Client(), b"y" * (3 * PIECE_BYTES + 1)
    client.reads.set()

    await Outgoing(Heavy().turn).write(client.request, of_parts((b"{", large)))

    assert client.got() == b"{" + large
    views = [part for part in client.sent if isinstance(part, memoryview)]
    assert all(view.obj is large for view in views)
    assert max(len(part) for part in client.sent) == PIECE_BYTES


async def test_small_parts_are_gathered() -> None:
    async def parts() -> Any:
        for _ in range(100):
            yield b"z" * 10_000

    pieces = [len(piece.data) async for piece in as_pieces(parts())]

    assert sum(pieces) == 1_000_000
    assert min(pieces[:-1]) >= PIECE_BYTES


def test_what_cannot_be_shared_is_bounded_for_reads_alone() -> None:
    outgoing = Outgoing(Heavy().turn, max_private_bytes=100)
    with outgoing.private(1_000, refuses=True):
        with pytest.raises(StatusError) as refused, outgoing.private(1, refuses=True):
            pass
        with outgoing.private(1, refuses=False):
            assert outgoing.private_bytes == 1_001

    assert refused.value.code == 429
    assert outgoing.private_bytes == 0


def test_a_piece_is_compressed_once() -> None:
    piece = Piece(b"a" * 1000)

    assert piece.packed is piece.packed


async def test_of_many_answers_one_is_written_in_a_turn_of_the_loop() -> None:
    heavy = Heavy()
    outgoing, body = Outgoing(heavy.turn), await plain(200)
    clients = [Client() for _ in range(20)]
    for each in clients:
        each.reads.set()
    writing = [asyncio.ensure_future(outgoing.write(each.request, aiter(body))) for each in clients]
    written = 0

    while not all(task.done() for task in writing):
        await asyncio.sleep(0)
        before, written = written, sum(len(each.sent) for each in clients)
        assert written - before <= 1

    assert [each.got() for each in clients] == [whole(200)] * 20
