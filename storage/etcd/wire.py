"""The JSON of etcd's gateway: base64 keys and values, int64 as strings, zero values left out."""

from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

Message = dict[str, Any]
"""A decoded answer of the gateway."""

decode = orjson.loads
encode = orjson.dumps


def b64(data: bytes) -> bytes:
    """`data` as the gateway wants keys and values."""
    return b2a_base64(data, newline=False)


def unb64(text: str) -> bytes:
    """A key or value of an answer."""
    return a2b_base64(text)


def number(message: Mapping[str, Any], name: str) -> int:
    """An int64 of an answer; absent means 0."""
    return int(message.get(name, 0))


def revision_of(answer: Mapping[str, Any]) -> int:
    """The store's revision when `answer` was made."""
    return number(answer.get("header", {}), "revision")


def range_end(prefix: bytes) -> bytes:
    """The first key after all that begin with `prefix`, which ends in a byte below 0xff."""
    return prefix[:-1] + bytes((prefix[-1] + 1,))


def range_request(key: bytes, **options: object) -> Message:
    """A RangeRequest of one key, or, with `range_end`, of several."""
    return {"key": b64(key).decode(), **options}


def reads_request(keys: Sequence[bytes], revision: int) -> bytes:
    """A Txn that reads all of `keys` at one revision, the newest where `revision` is 0."""
    options = {"revision": str(revision)} if revision else {}
    return encode({"success": [{"request_range": range_request(k, **options)} for k in keys]})
