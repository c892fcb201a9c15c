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

_BREATH_JSON: Final = 200
"""Records that are decoded, shaped and encoded in one go: some three milliseconds."""

_BREATH_YAML: Final = 40
"""The same for YAML: ten milliseconds."""


@dataclass(frozen=True, slots=True)
class LongObject:
    """`around`, whose field `long` is a list that is made of `records`.

    `around[long]` is what stands there without any.
    """

    around: Object
    long: str
    records: Sequence[Record]
    make: Callable[[Sequence[Record]], list[Object]]

    async def batches(self, size: int) -> AsyncIterator[list[Object]]:
        for start in range(0, len(self.records), size):
            yield self.make(self.records[start : start + size])
            await asyncio.sleep(0)

    async def whole(self) -> Object:
        if not self.records:
            return self.around
        items: list[Object] = []
        async for batch in self.batches(_BREATH_JSON):
            items += batch
        return {**self.around, self.long: items}


async def json_parts(obj: LongObject) -> list[bytes]:
    """`codec.encode(obj.whole())`, in parts, but for the order of fields: the list comes last."""
    if not obj.records:
        return [codec.encode(obj.around)]
    rest = {key: value for key, value in obj.around.items() if key != obj.long}
    separator = b'%b,"%b":[' % (codec.encode(rest)[:-1], obj.long.encode())
    parts = []
    async for batch in obj.batches(_BREATH_JSON):
        parts += [separator, codec.encode(batch)[1:-1]]
        separator = b","
    return [*parts, b"]}"]


async def yaml_parts(obj: LongObject) -> list[bytes]:
    """`codec.encode_yaml(obj.whole())`, in parts."""
    if len(obj.records) <= _BREATH_YAML:
        return [codec.encode_yaml(await obj.whole())]
    # Fields come in order, and a list's items are not indented within an object.
    before = {key: value for key, value in obj.around.items() if key < obj.long}
    after = {key: value for key, value in obj.around.items() if key > obj.long}
    parts = [codec.encode_yaml(before)] if before else []
    parts.append(f"{obj.long}:\n".encode())
    parts += [codec.encode_yaml(batch) async for batch in obj.batches(_BREATH_YAML)]
    if after:
        parts.append(codec.encode_yaml(after))
    return parts
