"""Long answers: written as their clients read them, in pieces that equal answers share.

A list of 20,000 shoots is 33 MB, and a client may take it in a second, in a minute or not at all.
What such an answer costs the server does not depend on that:

*Made when it is due.* An answer is a `Body`: pieces of some PIECE_BYTES, each of which is made when
its turn has come. An answer holds the records, which the watch cache holds anyway, and one piece.

*Written with backpressure.* After each write the writer waits until the connection's buffers have
emptied. They hold little: `Listener` sets WRITE_BUFFER_BYTES for TLS, of which each of the two
layers (the bytes that are encrypted, and those that the kernel has not taken) may exceed its limit
by one write of PIECE_BYTES. Measured: 250 KiB for each client that does not read.

*Within the request.* Whoever writes is inside the filters: the answer keeps its place in flight, and
ends with the request's time limit. What has begun then cannot become another answer; the connection
is aborted, with what waits in its buffers. Short answers go into the buffers at once; a
connection whose buffers stay full is aborted after the same time (`server.listener`).

*Shared.* Lists of one version have one `Body` (`storage.interface.Page.encoded`), and those that
are at the same piece hold the same bytes, compressed or not: pieces are kept by weak reference
and live while somebody writes them. Only what the encryption makes of them is each connection's own.

*Compressed without a state.* A deflate stream's state takes 256 KiB for as long as an answer takes.
So each piece is compressed by itself and ends at a byte's boundary, as `pigz --independent` does,
and the pieces between gzip's header and trailer are one ordinary stream.

*Bounded where it cannot be shared.* One object as YAML, or indented, is made as a whole. Such answers
that are longer than a piece take MAX_PRIVATE_BYTES at most all together; beyond it reads are answered
429. A write's answer is written whatever there is: its client must hear of it.

*One piece at a time.* Some hundred answers that are ready to go on would keep everybody else
waiting for as many pieces, and have as many decoded. They are made and written in turns, one in each
turn of the event loop.
"""

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from aiohttp import web

from apis.meta import errors
from quotaapi.endpoints.compression import HEADER, deflated, trailer

PIECE_BYTES: Final = 64 * 1024

WRITE_BUFFER_BYTES: Final = 64 * 1024
"""Of a connection, beyond which it counts as full."""

MAX_PRIVATE_BYTES: Final = 64 * 1024 * 1024
"""Of answers that are made as a whole, and are no longer than an object: YAML, tables, documents."""


Bytes = bytes | memoryview


class Piece:
    """Some bytes of an answer; `packed` is made once, for the first who wants it."""

    __slots__ = ("__weakref__", "_packed", "data")

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self._packed = b""

    @property
    def packed(self) -> bytes:
        if not self._packed and self.data:
            self._packed = deflated(self.data)
        return self._packed


class Body:
    """`count` pieces, of which `make` makes one. `length` is that of all, None where it is not known."""

    def __init__(
        self, count: int, make: Callable[[int], Awaitable[bytes]], length: int | None = None
    ) -> None:
        self.length = length
        self._count = count
        self._make = make
        self._pieces: WeakValueDictionary[int, Piece] = WeakValueDictionary()

    async def __aiter__(self) -> AsyncIterator[Piece]:
        for index in range(self._count):
            piece = self._pieces.get(index)
            if piece is None:
                piece = Piece(await self._make(index))
                self._pieces[index] = piece
            yield piece
            del piece  # nobody needs it while the next one is made


class Outgoing:
    """Writers of long answers take turns: one of them works in each turn of the event loop."""

    def __init__(
        self, turn: Callable[[], Awaitable[None]], *, max_private_bytes: int = MAX_PRIVATE_BYTES
    ) -> None:
        """`turn`: `Heavy.turn`, since those who make long answers take turns with these."""
        self._max_private_bytes = max_private_bytes
        self._turn = turn
        self.private_bytes = 0
        """Of answers under way that were made as a whole and belong to one client each."""

    @contextmanager
    def private(self, size: int, *, refuses: bool) -> Iterator[None]:
        """Around the writing of such an answer. Raises 429 where there are too many, if it may."""
        if refuses and self.private_bytes and self.private_bytes + size > self._max_private_bytes:
            raise errors.too_many_requests("Too many large answers, please try again later.")
        self.private_bytes += size
        try:
            yield
        finally:
            self.private_bytes -= size

    async def write(
        self, request: web.BaseRequest, pieces: AsyncIterator[Piece], *, gzip: bool = False
    ) -> None:
        """The body of an answer whose head is prepared.

        Raises ConnectionError for a client that is gone.
        """
        if not gzip:
            async for piece in pieces:
                await self.write_bytes(request, piece.data)
            return
        crc = size = 0
        await self.write_bytes(request, HEADER)
        async for piece in pieces:
            await self._turn()  # to compress it
            crc = zlib.crc32(piece.data, crc)
            size += len(piece.data)
            await self.write_bytes(request, piece.packed)
        await self.write_bytes(request, trailer(crc, size))

    async def write_bytes(self, request: web.BaseRequest, data: Bytes) -> None:
        """As `write`, of one piece: no more at a time than the connection takes."""
        for part in _parts(data):
            await self._turn()
            await request.writer.write(part)
            await request.writer.drain()


def _parts(data: Bytes) -> Iterator[Bytes]:
    """Views of shared bytes, none of which is longer than PIECE_BYTES."""
    if len(data) <= PIECE_BYTES:
        if data:
            yield data
        return
    view = memoryview(data)
    for start in range(0, len(data), PIECE_BYTES):
        yield view[start : start + PIECE_BYTES]


async def as_pieces(parts: AsyncIterator[bytes]) -> AsyncIterator[Piece]:
    """What is one answer's own, in pieces of PIECE_BYTES and more."""
    pending: list[bytes] = []
    size = 0
    async for part in parts:
        pending.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            data = b"".join(pending)
            pending.clear()
            size = 0
            yield Piece(data)
    if pending:
        yield Piece(b"".join(pending))


async def of_parts(parts: Sequence[Bytes]) -> AsyncIterator[Piece]:
    """Bytes that are there already, and are not copied."""
    for part in parts:
        for piece in _parts(part):
            yield Piece(piece)
