"""Objects with a long list in them, to bytes, a few items at a time: others are served in between.

Of the items only those that are being encoded exist as objects: Python's garbage collector would
look at tens of thousands of them for a twentieth of a second, and nobody would be served meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from apis.meta import codec
from apis.meta.transaction import Object, Record
from quotaapi.endpoints.longanswer import Body
from quotaapi.registry.heavy import Breath, Heavy, breaths

_PLAIN_BYTES: Final = 60 * 1024
"""Of records whose bytes are only joined: with the last one mostly no more than is written at once."""

_COUNTED: Final = 2_000
"""Records whose lengths are added in one go: half a millisecond."""

BREATH_JSON: Final = Breath(100, 64 * 1024)
"""Records that are decoded, shaped and encoded: a millisecond or two."""

LARGE_JSON_BYTES: Final = 256 * 1024
"""Records that are decoded, shaped and encoded in a thread."""

_BREATH_YAML: Final = Breath(40, 16 * 1024)
"""The same for YAML: ten milliseconds."""


@dataclass(frozen=True, slots=True)
class LongObject:
    """`around`, whose last field, `long`, is a list that is made of `records`.

    `around[long]` is what stands there without any.
    """

    around: Object
    long: str
    records: Sequence[Record]
    make: Callable[[Sequence[Record]], list[Object]]

    def rest(self) -> Object:
        return {key: value for key, value in self.around.items() if key != self.long}

    async def encoded(
        self, breath: Breath, heavy: Heavy, encode: Callable[[list[Object]], bytes]
    ) -> AsyncIterator[bytes]:
        """The items as they were encoded, a breath at a time."""
        for records in breaths(self.records, breath):
            size = sum(len(record.body) for record in records)
            if size <= breath.record_bytes:  # a single one may be larger
                await heavy.turn()
                items = encode(self.make(records))
            else:
                items = await heavy.run(size, lambda batch: encode(self.make(batch)), records)
            yield items
            del items


class PlainList:
    """A list as `plain_body` makes it: once, for all who answer with it."""

    def __init__(self, head: bytes, records: Sequence[Record], tail: bytes) -> None:
        self._parts = head, records, tail
        self._making = asyncio.Lock()
        self._body: Body | None = None

    async def body(self) -> Body:
        async with self._making:
            if self._body is None:
                self._body = await plain_body(*self._parts)
            return self._body


async def plain_body(head: bytes, records: Sequence[Record], tail: bytes) -> Body:
    """The records as they are stored, with commas in between."""
    spans, length = await _spans(records)

    async def make(index: int) -> bytes:
        start, end = spans[index]
        items = b",".join([record.json() for record in records[start:end]])
        before = head if start == 0 else b","
        return b"".join((before, items, tail if end == len(records) else b""))

    return Body(len(spans), make, len(head) + length + len(tail))


async def _spans(records: Sequence[Record]) -> tuple[list[tuple[int, int]], int]:
    """Where the pieces begin and end, at least one; and the length of the records with their commas."""
    spans: list[tuple[int, int]] = []
    start = size = length = 0
    for at, record in enumerate(records, 1):
        size += record.json_bytes
        if size >= _PLAIN_BYTES:
            spans.append((start, at))
            start, length, size = at, length + size, 0
        if at % _COUNTED == 0:
            await asyncio.sleep(0)
    if start < len(records) or not spans:
        spans.append((start, len(records)))
    return spans, length + size + max(len(records) - 1, 0)


async def json_parts(obj: LongObject, heavy: Heavy) -> AsyncIterator[bytes]:
    """`obj` with all its items, in parts, each made when it is asked for."""
    if not obj.records:
        yield codec.encode(obj.around)
        return
    separator = b'%b,"%b":[' % (codec.encode(obj.rest())[:-1], obj.long.encode())
    async for items in obj.encoded(BREATH_JSON, heavy, codec.encode):
        yield separator + items[1:-1]
        separator = b","
    yield b"]}"


async def pretty_parts(obj: LongObject, heavy: Heavy) -> AsyncIterator[bytes]:
    """As `json_parts`, for people."""
    if not obj.records:
        yield codec.encode_pretty(obj.around)
        return
    head = codec.encode_pretty(obj.rest()).removesuffix(b"\n}\n")
    separator = b'%b,\n  "%b": [\n' % (head, obj.long.encode())
    async for items in obj.encoded(BREATH_JSON, heavy, codec.encode_pretty):
        lines = items.removeprefix(b"[\n").removesuffix(b"\n]\n")
        # Two levels deep instead of one; a line's end within a text is written otherwise.
        yield b"".join((separator, b"  ", lines.replace(b"\n", b"\n  ")))
        separator = b",\n"
    yield b"\n  ]\n}\n"


async def yaml_parts(obj: LongObject, heavy: Heavy) -> AsyncIterator[bytes]:
    """As `json_parts`, in YAML."""
    if not obj.records:
        yield codec.encode_yaml(obj.around)
        return
    # Fields come in order, and a list's items are not indented within an object.
    before = {key: value for key, value in obj.around.items() if key < obj.long}
    after = {key: value for key, value in obj.around.items() if key > obj.long}
    yield (codec.encode_yaml(before) if before else b"") + f"{obj.long}:\n".encode()
    async for items in obj.encoded(_BREATH_YAML, heavy, codec.encode_yaml):
        yield items
    if after:
        yield codec.encode_yaml(after)
