"""OpenAPI v2 in the protobuf of gnostic, which old kubectls ask for and nothing else.

Small and strict: it knows what `documents` says, field by field as in gnostic's OpenAPIv2.proto,
and refuses everything else. kube-apiserver packs the cluster's merged document likewise, where one
extension's unknown word would cost everybody the whole of it.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from apis.meta import codec
from apis.meta.transaction import Object

MEDIA_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_VARINT, _FIXED64, _LENGTH = 0, 1, 2

Encoder = Callable[[int, Any], Iterator[bytes]]
"""(field number, value) -> tag and value, as protobuf has them on the wire."""


class UnknownField(ValueError):
    """What gnostic's reader would refuse."""


def encode(document: Object) -> bytes:
    """The message Document. Raises UnknownField."""
    return b"".join(_fields("Document", document))


# The wire


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1  # negative numbers are ten bytes of two's complement
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _bytes(number: int, data: bytes) -> Iterator[bytes]:
    yield _tag(number, _LENGTH)
    yield _varint(len(data))
    yield data


def _string(number: int, value: str) -> Iterator[bytes]:
    return _bytes(number, value.encode())


def _bool(number: int, value: bool) -> Iterator[bytes]:
    yield _tag(number, _VARINT) + _varint(int(value))


def _int(number: int, value: int) -> Iterator[bytes]:
    yield _tag(number, _VARINT) + _varint(value)


def _double(number: int, value: float) -> Iterator[bytes]:
    yield _tag(number, _FIXED64) + struct.pack("<d", value)


def _any(number: int, value: object) -> Iterator[bytes]:
    """A message with the value as YAML, of which JSON is a part."""
    return _bytes(number, b"".join(_bytes(2, codec.encode(value))))


def _message(name: str) -> Encoder:
    return lambda number, value: _bytes(number, b"".join(_fields(name, value)))


def _each(encoder: Encoder) -> Encoder:
    def encode_each(number: int, values: list[Any]) -> Iterator[bytes]:
        for value in values:
            yield from encoder(number, value)

    return encode_each


def _within(*numbers: int, encoder: Encoder) -> Encoder:
    """Messages of one field each around the value, outermost first."""

    def encode_within(number: int, value: Any) -> Iterator[bytes]:
        *outer, innermost = numbers
        data = b"".join(encoder(innermost, value))
        for between in reversed(outer):
            data = b"".join(_bytes(between, data))
        return _bytes(number, data)

    return encode_within


def _named(encoder: Encoder) -> Encoder:
    """A map: repeated pairs of a name and a value."""

    def encode_named(number: int, values: Mapping[str, Any]) -> Iterator[bytes]:
        for name, value in values.items():
            yield from _bytes(number, b"".join((*_string(1, name), *encoder(2, value))))

    return encode_named


def _fields(message: str, value: Object) -> Iterator[bytes]:
    known = _FIELDS[message]
    for name, content in value.items():
        if name in known:
            number, encoder = known[name]
            yield from encoder(number, content)
        elif name.startswith("x-") and message in _EXTENSIONS:
            yield from _named(_any)(_EXTENSIONS[message], {name: content})
        else:
            raise UnknownField(f"{message} has no field {name!r} in OpenAPI v2")


# The messages


def _parameter(number: int, value: Object) -> Iterator[bytes]:
    encoder = _PARAMETERS.get(value["in"])
    if encoder is None:
        raise UnknownField(f"no parameter is in {value['in']!r}")
    return encoder(number, value)


def _schema_or_bool(number: int, value: Object | bool) -> Iterator[bytes]:
    if isinstance(value, bool):
        return _bytes(number, b"".join(_bool(2, value)))
    return _within(1, encoder=_SCHEMA)(number, value)


_SCHEMA: Final = _message("Schema")
_SCHEMAS: Final = _within(1, encoder=_named(_SCHEMA))
_TEXTS: Final = _each(_string)

_PARAMETERS: Final[Mapping[str, Encoder]] = {
    "body": _within(1, 1, encoder=_message("BodyParameter")),
    "query": _within(1, 2, 3, encoder=_message("QueryParameterSubSchema")),
    "path": _within(1, 2, 4, encoder=_message("PathParameterSubSchema")),
}
"""Where a parameter is -> ParametersItem, Parameter and what they wrap."""

_FIELDS: Final[Mapping[str, Mapping[str, tuple[int, Encoder]]]] = {
    "Document": {
        "swagger": (1, _string),
        "info": (2, _message("Info")),
        "paths": (8, _within(2, encoder=_named(_message("PathItem")))),
        "definitions": (9, _SCHEMAS),
    },
    "Info": {"title": (1, _string), "version": (2, _string), "description": (3, _string)},
    "PathItem": {
        method: (number, _message("Operation"))
        for number, method in enumerate(
            ("get", "put", "post", "delete", "options", "head", "patch"), start=2
        )
    },
    "Operation": {
        "tags": (1, _TEXTS),
        "description": (3, _string),
        "operationId": (5, _string),
        "produces": (6, _TEXTS),
        "consumes": (7, _TEXTS),
        "parameters": (8, _each(_parameter)),
        "responses": (
            9, _within(1, encoder=_named(_within(1, encoder=_message("Response")))),
        ),
        "schemes": (10, _TEXTS),
    },
    "BodyParameter": {
        "description": (1, _string),
        "name": (2, _string),
        "in": (3, _string),
        "required": (4, _bool),
        "schema": (5, _SCHEMA),
    },
    "QueryParameterSubSchema": {
        "required": (1, _bool),
        "in": (2, _string),
        "description": (3, _string),
        "name": (4, _string),
        "type": (6, _string),
    },
    "PathParameterSubSchema": {
        "required": (1, _bool),
        "in": (2, _string),
        "description": (3, _string),
        "name": (4, _string),
        "type": (5, _string),
    },
    "Response": {"description": (1, _string), "schema": (2, _within(1, encoder=_SCHEMA))},
    "Schema": {
        "$ref": (1, _string),
        "format": (2, _string),
        "description": (4, _string),
        "default": (5, _any),
        "maximum": (7, _double),
        "minimum": (9, _double),
        "maxLength": (11, _int),
        "minLength": (12, _int),
        "pattern": (13, _string),
        "maxItems": (14, _int),
        "minItems": (15, _int),
        "maxProperties": (17, _int),
        "required": (19, _TEXTS),
        "enum": (20, _each(_any)),
        "additionalProperties": (21, _schema_or_bool),
        "type": (22, _within(1, encoder=_string)),
        "items": (23, _within(1, encoder=_SCHEMA)),
        "properties": (25, _SCHEMAS),
    },
}  # fmt: skip

_EXTENSIONS: Final[Mapping[str, int]] = {"Operation": 13, "Schema": 31}
"""Where a message keeps its fields that begin with `x-`."""
