"""Objects with a long list in them, to bytes, a few items at a time: others are served in between.

Of the items only those that are being encoded exist as objects: Python's garbage collector would
look at tens of thousands of them for a twentieth of a second, and nobody would be served meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from apis.meta import codec
from apis.meta.transaction import Object, Record
from quotaapi.registry.heavy import Heavy


@dataclass(frozen=True, slots=True)
class Breath:
    """What is worked on in one go: no more records, and no more bytes of them, but at least one."""

    records: int
    record_bytes: int


_BREATH_PLAIN: Final = Breath(500, 512 * 1024)
"""Records whose bytes are only joined: half a millisecond. More would be as quick, and others wait."""

BREATH_JSON: Final = Breath(200, 256 * 1024)
"""Records that are decoded, shaped and encoded: some three milliseconds."""

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
            if size <= breath.record_bytes:
                yield encode(self.make(records))
            else:
                yield await heavy.run(size, lambda batch: encode(self.make(batch)), records)
            await asyncio.sleep(0)


def breaths(records: Sequence[Record], breath: Breath) -> Iterator[Sequence[Record]]:
    start = size = 0
    for at, record in enumerate(records):
        size += len(record.body)
        if at > start and (at - start >= breath.records or size > breath.record_bytes):
            yield records[start:at]
            start, size = at, len(record.body)
    if start < len(records):
        yield records[start:]


async def plain_parts(head: bytes, records: Sequence[Record], tail: bytes) -> list[bytes]:
    """The records as they are stored, with commas in between."""
    parts: list[bytes] = []
    for batch in breaths(records, _BREATH_PLAIN):
        if parts:
            await asyncio.sleep(0)
        parts += [b"," if parts else head, b",".join([record.json() for record in batch])]
    return [*(parts or [head]), tail]


async def json_parts(obj: LongObject, heavy: Heavy) -> list[bytes]:
    """`obj` with all its items, in parts."""
    if not obj.records:
        return [codec.encode(obj.around)]
    separator = b'%b,"%b":[' % (codec.encode(obj.rest())[:-1], obj.long.encode())
    parts = []
    async for items in obj.encoded(BREATH_JSON, heavy, codec.encode):
        parts += [separator, items[1:-1]]
        separator = b","
    return [*parts, b"]}"]


async def pretty_parts(obj: LongObject, heavy: Heavy) -> list[bytes]:
    """As `json_parts`, for people."""
    if not obj.records:
        return [codec.encode_pretty(obj.around)]
    head = codec.encode_pretty(obj.rest()).removesuffix(b"\n}\n")
    separator = b'%b,\n  "%b": [\n' % (head, obj.long.encode())
    parts = []
    async for items in obj.encoded(BREATH_JSON, heavy, codec.encode_pretty):
        lines = items.removeprefix(b"[\n").removesuffix(b"\n]\n")
        # Two levels deep instead of one; a line's end within a text is written otherwise.
        parts += [separator, b"  ", lines.replace(b"\n", b"\n  ")]
        separator = b",\n"
    return [*parts, b"\n  ]\n}\n"]


async def yaml_parts(obj: LongObject, heavy: Heavy) -> list[bytes]:
    """As `json_parts`, in YAML."""
    if not obj.records:
        return [codec.encode_yaml(obj.around)]
    # Fields come in order, and a list's items are not indented within an object.
    before = {key: value for key, value in obj.around.items() if key < obj.long}
    after = {key: value for key, value in obj.around.items() if key > obj.long}
    parts = [codec.encode_yaml(before)] if before else []
    parts.append(f"{obj.long}:\n".encode())
    parts += [items async for items in obj.encoded(_BREATH_YAML, heavy, codec.encode_yaml)]
    if after:
        parts.append(codec.encode_yaml(after))
    return parts
