"""Objects with a long list in them, to bytes, in turns: others are served in between.

JSON takes some two milliseconds per megabyte. YAML takes two seconds, so that it is made of a few
items at a time.
"""

import asyncio
from typing import Final

from apis.meta import codec
from apis.meta.transaction import Object

_BREATH: Final = 40
"""Items that become YAML in one go: about twenty milliseconds."""


async def yaml_parts(obj: Object, long: str) -> list[bytes]:
    """`codec.encode_yaml(obj)`, in parts. `long`: the field that holds the list."""
    items = obj[long]
    if not items or len(items) <= _BREATH:
        return [codec.encode_yaml(obj)]
    # Fields come in order, and a list's items are not indented within an object.
    before = {key: value for key, value in obj.items() if key < long}
    after = {key: value for key, value in obj.items() if key > long}
    parts = [codec.encode_yaml(before)] if before else []
    parts.append(f"{long}:\n".encode())
    for start in range(0, len(items), _BREATH):
        parts.append(codec.encode_yaml(items[start : start + _BREATH]))
        await asyncio.sleep(0)
    if after:
        parts.append(codec.encode_yaml(after))
    return parts
