"""Bodies in Kubernetes' protobuf, for the few messages of texts that clients send in nothing else.

Envelope: `k8s\\0`, then a message `Unknown`: 1 the type (1 apiVersion, 2 kind), 2 the object's bytes.
Only length-delimited fields are read, which texts and messages are; others are skipped.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Union

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"

Fields = Mapping[int, tuple[str, Union["Fields", None]]]
"""Number -> name in JSON, and the fields of a message; None for a text."""

_MAGIC: Final = b"k8s\x00"
_TYPE: Final[Fields] = {1: ("apiVersion", None), 2: ("kind", None)}

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_VARINT_BYTES: Final = 10


def decode(data: bytes, declared: Fields) -> dict[str, Any]:
    """The object with its `apiVersion` and `kind`. Raises ValueError for what is none."""
    if not data.startswith(_MAGIC):
        raise ValueError("provided data does not appear to be a protobuf message")
    envelope = dict(_members(data[len(_MAGIC) :]))
    return {**_message(envelope.get(1, b""), _TYPE), **_message(envelope.get(2, b""), declared)}


def _message(data: bytes, declared: Fields) -> dict[str, Any]:
    """Empty texts are left out, as JSON's `omitempty` does. Depth is bounded by the declaration's."""
    found: dict[str, Any] = {}
    for number, value in _members(data):
        if number not in declared:
            continue
        name, below = declared[number]
        if below is not None:
            found[name] = _message(value, below)
        elif value:
            found[name] = value.decode()  # UnicodeDecodeError is a ValueError
    return found


def _members(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of every length-delimited field."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _BYTES:
            length, at = _varint(data, at)
            yield tag >> 3, data[at : at + length]
            at += length
        elif kind == _VARINT:
            _, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"proto: illegal wireType {kind}")
    if at > len(data):
        raise ValueError("unexpected EOF")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, where the next byte is)."""
    value = 0
    for shift, byte in enumerate(data[at : at + _MOST_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    raise ValueError("unexpected EOF")
