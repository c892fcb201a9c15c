"""Bytes to objects and back: JSON here, YAML by `yaml_codec`, to which this is the only door.

What a client sends is decoded by orjson, whose silence on three faults is made good here, each
by a check that costs a few microseconds on an ordinary body, and by an exact second pass only
where it hits:

* Duplicate fields. The encoding of what was decoded has a colon for every colon of the body's,
  unless a field was dropped (`\\u003a` writes a colon otherwise, so that bodies with it are
  looked at exactly).
* Integers beyond 64 bits, which orjson makes floats. They have at least 19 digits in a row.
* Nesting that can be decoded and not encoded again. What was decoded is encoded once.
"""

import json  # noqa: TID251 - the exact pass: orjson has no hook for pairs and integers
from collections import Counter
from typing import Any

import orjson

from apis.meta.decoded import (
    INT_MAX,
    INT_MIN,
    MAX_DEPTH,
    MAX_REPORTED_DUPLICATES,
    Decoded,
    DecodeError,
    out_of_range,
    too_deep,
)
from apis.meta.yaml_codec import compose, serialise

__all__ = [
    "MAX_DEPTH", "DecodeError", "Decoded", "copy", "decode_json", "decode_yaml", "encode",
    "encode_pretty", "encode_sorted", "encode_yaml", "json_type",
]  # fmt: skip

_ENCODABLE_DEPTH = 254
"""What orjson encodes; a unit test pins it."""

_WRAPPING = _ENCODABLE_DEPTH - MAX_DEPTH
"""Lists that are put around a value so that orjson's bound becomes ours."""

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19


def decode_json(data: bytes) -> Decoded:
    """One JSON document. Raises DecodeError in the words of Go's decoder where it has words."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as e:
        raise DecodeError(_go_message(e)) from e
    encoded = _encode_bounded(value)
    if encoded[_WRAPPING:-_WRAPPING] == data.rstrip():
        return Decoded(value, size=len(data))  # compact, as Go clients write: nothing was lost
    if (
        data.count(b":") != encoded.count(b":")
        or b"\\u003" in data
        or _LONG_NUMBER in data.translate(_DIGITS)
    ):
        return Decoded(value, _examine(data), len(data))
    return Decoded(value, size=len(data))


def decode_yaml(data: bytes) -> Decoded:
    """One YAML document, as JSON. JSON, which is YAML too, takes the short way."""
    if data.lstrip(b" \t\r\n").startswith(b"{"):
        try:
            return decode_json(data)
        except DecodeError:
            pass  # a flow mapping of YAML, or faulty in either: YAML's own message says so
    value, duplicates = compose(data)
    return Decoded(value, duplicates, len(_encode_bounded(value)))


def encode(obj: Any) -> bytes:
    return orjson.dumps(obj)


def encode_sorted(obj: Any) -> bytes:
    """The same bytes for equal objects, whatever the order of their fields."""
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)


def encode_pretty(obj: Any) -> bytes:
    """For people (`?pretty=true`)."""
    return orjson.dumps(obj, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def copy(value: Any) -> Any:
    """A deep copy of JSON values, at a quarter of `copy.deepcopy`'s time.

    Raises DecodeError for what is nested deeper than MAX_DEPTH.
    """
    nested = orjson.loads(_encode_bounded(value))
    for _ in range(_WRAPPING):
        (nested,) = nested
    return nested


def encode_yaml(obj: Any) -> bytes:
    return serialise(obj)


def json_type(value: Any) -> str:
    """As Go's decoder calls it: `cannot unmarshal array into ...`."""
    names = {dict: "object", list: "array", str: "string", bool: "bool", type(None): "null"}
    return names.get(type(value), "number")


def _encode_bounded(value: Any) -> bytes:
    """Encode within `_WRAPPING` lists, refusing what is nested deeper than MAX_DEPTH."""
    wrapped = value
    for _ in range(_WRAPPING):
        wrapped = [wrapped]
    try:
        return orjson.dumps(wrapped)
    except orjson.JSONEncodeError as e:
        raise too_deep() from e


def _examine(data: bytes) -> tuple[str, ...]:
    """The paths of duplicate fields; raises DecodeError for integers that do not fit."""
    repeated: dict[int, list[str]] = {}
    keep: list[dict[str, Any]] = []  # ids stay taken while their objects live

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        obj = dict(items)
        if len(obj) != len(items):
            counts = Counter(key for key, _ in items)
            repeated[id(obj)] = [key for key, n in counts.items() if n > 1]
            keep.append(obj)
        return obj

    value = json.loads(data, object_pairs_hook=pairs, parse_int=_parse_int)
    return tuple(_paths(value, repeated)) if repeated else ()


def _parse_int(digits: str) -> int:
    if len(digits) > 20 or not INT_MIN <= int(digits) <= INT_MAX:
        raise out_of_range(digits)
    return int(digits)


def _paths(value: Any, repeated: dict[int, list[str]]) -> list[str]:
    found: list[str] = []

    def walk(node: Any, path: str) -> None:
        if len(found) >= MAX_REPORTED_DUPLICATES:
            return
        if isinstance(node, dict):
            prefix = f"{path}." if path else ""
            found.extend(f"{prefix}{name}" for name in repeated.get(id(node), ()))
            for key, child in node.items():
                walk(child, f"{prefix}{key}")
        elif isinstance(node, list):
            for i, child in enumerate(node):
                walk(child, f"{path}[{i}]")

    walk(value, "")
    return found[:MAX_REPORTED_DUPLICATES]


_EXPECTATIONS = (
    ("unexpected content after document", "after top-level value"),
    ("expected a JSON value", "looking for beginning of value"),
    ("expected a string key", "looking for beginning of object key string"),
    ("expected ':' after key", "after object key"),
    ("expected ',' or '}'", "after object key:value pair"),
    ("expected ',' or ']'", "after array element"),
    ("control character in string", "in string literal"),
)


def _go_message(error: orjson.JSONDecodeError) -> str:
    if error.msg.startswith(("unexpected end of data", "input data is empty", "Input is a zero")):
        return "unexpected end of JSON input"
    if error.msg.startswith("depth limit exceeded"):
        return str(too_deep())
    rest = error.doc[error.pos :]
    if error.msg.startswith("trailing comma"):
        rest = rest[1:].lstrip(" \t\r\n")
        where = "value" if rest.startswith("]") else "object key string"
        return f"invalid character '{rest[:1]}' looking for beginning of {where}"
    for words, where in _EXPECTATIONS:
        if words in error.msg and rest:
            return f"invalid character {_go_character(rest[0])} {where}"
    return f"{error.msg} at offset {error.pos}"


def _go_character(char: str) -> str:
    if char == "'":
        return "'\\''"
    if char.isprintable():
        return f"'{char}'"
    code = ord(char)
    if char in "\n\r\t":
        return {"\n": "'\\n'", "\r": "'\\r'", "\t": "'\\t'"}[char]
    return f"'\\x{code:02x}'" if code < 0x80 else f"'\\u{code:04x}'"
