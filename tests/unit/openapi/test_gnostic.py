"""OpenAPI v2 as protobuf, read back by a reader that knows the wire format alone."""

import struct
from collections.abc import Iterator

import pytest

from apis.garden.v1beta1.register import RESOURCES
from apis.meta.openapi import documents, gnostic
from apis.meta.openapi.documents import Described

HEAD = {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": {}}

Value = int | float | bytes


def read(data: bytes) -> Iterator[tuple[int, Value]]:
    """(field number, value) of one message."""
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        number, wire_type = divmod(varint(), 8)
        match wire_type:
            case 0:
                yield number, varint()
            case 1:
                yield number, struct.unpack_from("<d", data, position)[0]
                position += 8
            case 2:
                length = varint()
                yield number, data[position : position + length]
                position += length
            case _:
                raise AssertionError(f"wire type {wire_type}")


def at(data: bytes, *numbers: int) -> list[Value]:
    """Every value at a path of field numbers."""
    found: list[Value] = [data]
    for number in numbers:
        found = [
            value
            for message in found
            if isinstance(message, bytes)
            for each, value in read(message)
            if each == number
        ]
    return found


def test_a_document_begins_with_its_version_and_title() -> None:
    packed = gnostic.encode(HEAD)

    assert at(packed, 1) == [b"2.0"]
    assert at(packed, 2, 1) == [b"t"]


def test_a_schema_keeps_every_field() -> None:
    schema = {
        "type": "integer",
        "description": "d",
        "minimum": -1,
        "maxLength": 300,
        "enum": ["a"],
        "default": {"b": 1},
        "x-kubernetes-list-type": "map",
    }
    packed = gnostic.encode(HEAD | {"definitions": {"N": schema}})

    named = (9, 1)
    assert at(packed, *named, 1) == [b"N"]
    within = (*named, 2)
    assert at(packed, *within, 22, 1) == [b"integer"]
    assert at(packed, *within, 4) == [b"d"]
    assert at(packed, *within, 9) == [-1.0]
    assert at(packed, *within, 11) == [300]
    assert at(packed, *within, 20, 2) == [b'"a"']
    assert at(packed, *within, 5, 2) == [b'{"b":1}']
    assert at(packed, *within, 31, 1) == [b"x-kubernetes-list-type"]
    assert at(packed, *within, 31, 2, 2) == [b'"map"']


def test_values_of_a_map_are_a_schema_or_a_boolean() -> None:
    kinds = {"S": {"additionalProperties": {"type": "string"}}, "B": {"additionalProperties": True}}
    packed = gnostic.encode(HEAD | {"definitions": kinds})

    assert at(packed, 9, 1, 2, 21, 1, 22, 1) == [b"string"]
    assert at(packed, 9, 1, 2, 21, 2) == [1]


def test_negative_whole_numbers_are_twos_complement() -> None:
    packed = gnostic.encode(HEAD | {"definitions": {"N": {"maxItems": -1}}})

    assert at(packed, 9, 1, 2, 14) == [2**64 - 1]


def test_parameters_are_told_apart_by_where_they_are() -> None:
    parameters = [
        {"name": "q", "in": "query", "description": "", "type": "string"},
        {"name": "p", "in": "path", "description": "", "type": "string", "required": True},
        {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/N"}},
    ]
    packed = gnostic.encode(HEAD | {"paths": {"/x": {"get": {"parameters": parameters}}}})

    within = (8, 2, 2, 2, 8, 1)
    assert at(packed, *within, 2, 3, 4) == [b"q"]
    assert at(packed, *within, 2, 4, 4) == [b"p"]
    assert at(packed, *within, 1, 5, 1) == [b"#/definitions/N"]


@pytest.mark.parametrize(
    "definition", [{"oneOf": []}, {"nullable": True}, {"properties": {"a": {"anyOf": []}}}]
)
def test_what_version_2_does_not_know_is_refused(definition) -> None:
    with pytest.raises(gnostic.UnknownField, match="Schema has no field"):
        gnostic.encode(HEAD | {"definitions": {"N": definition}})


def test_parameters_of_another_place_are_refused() -> None:
    parameters = [{"name": "c", "in": "cookie"}]

    with pytest.raises(gnostic.UnknownField, match="cookie"):
        gnostic.encode(HEAD | {"paths": {"/x": {"get": {"parameters": parameters}}}})


def test_the_servers_document_can_be_packed() -> None:
    document = documents.version_2(Described(RESOURCES, "1", ("a/b",)))
    packed = gnostic.encode(document)

    assert {name.decode() for name in at(packed, 9, 1, 1) if isinstance(name, bytes)} == set(
        document["definitions"]
    )
    assert len(at(packed, 8, 2, 1)) == len(document["paths"])
