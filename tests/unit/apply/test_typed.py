"""What the schemas of the group have no example of."""

from typing import Any

import pytest

from apis.meta.structure import (
    Anything,
    Boolean,
    Integer,
    IntOrString,
    ListOf,
    ListType,
    MapOf,
    Node,
    Number,
    String,
    Struct,
)
from apis.meta.typed import same
from apis.meta.typed_kinds import compile_type

PORTS = ListOf(
    items=Struct(
        fields={"port": Integer(), "protocol": String(default="TCP"), "on": Boolean()},
        required=("port",),
    ),
    semantics=ListType.MAP,
    keys=("port", "protocol"),
)
UDP, TCP = 'k:{"port":53,"protocol":"UDP"}', 'k:{"port":53,"protocol":"TCP"}'


def faults_of(node: Node, value: Any) -> list[str]:
    faults: list[str] = []
    compile_type(node).check(value, ".x", faults)
    return faults


def test_items_are_told_apart_by_all_their_keys_and_the_keys_defaults() -> None:
    stated = compile_type(PORTS).stated([{"port": 53, "protocol": "UDP"}, {"port": 53, "on": True}])
    assert stated == {
        TCP: {".": {}, "f:on": {}, "f:port": {}},
        UDP: {".": {}, "f:port": {}, "f:protocol": {}},
    }


def test_numbers_in_keys_are_ordered_as_numbers() -> None:
    owned = compile_type(PORTS).owned([{"port": 443}, {"port": 80}])
    assert list(owned) == [".", 'k:{"port":80,"protocol":"TCP"}', 'k:{"port":443,"protocol":"TCP"}']


def test_a_key_of_a_map_is_stated_with_what_is_in_it() -> None:
    node = MapOf(values=Struct(fields={"a": String()}))
    assert compile_type(node).stated({"k": {"a": "x"}, "e": {}}) == {
        "f:e": {}, "f:k": {".": {}, "f:a": {}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("node", "value", "fault"),
    [
        (ListOf(items=String()), ["a", 1], ".x[1]: expected string, got &value.valueUnstructured{Value:1}"),
        (ListOf(items=String()), {}, ".x: expected list, got &{map[]}"),
        (Boolean(), "x", ".x: expected boolean, got &{x}"),
        (Number(), True, ".x: expected numeric (int or float), got bool"),
        (IntOrString(), [], ".x: expected any scalar, got &{[]}"),
        (PORTS, [None], ".x: element 0: associative list with keys may not have a null element"),
        (
            ListOf(items=String(), semantics=ListType.SET), [{}],
            ".x: element 0: associative list without keys has an element that's a map type",
        ),
        (
            ListOf(items=String(), semantics=ListType.SET), [[]],
            ".x: element 0: not supported: associative list with lists as elements",
        ),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_told(node: Node, value: Any, fault: str) -> None:
    assert faults_of(node, value) == [fault]


@pytest.mark.parametrize(
    "node", [String(), PORTS, ListOf(items=String()), MapOf(values=String()), Struct(), Anything()]
)
def test_a_null_is_of_every_type(node: Node) -> None:
    assert faults_of(node, None) == []


@pytest.mark.parametrize("node", [PORTS, MapOf(values=String()), Struct(fields={"a": String()})])
def test_null_and_empty_differ_as_leaves(node: Node) -> None:
    empty: Any = [] if node is PORTS else {}
    changed: dict[str, Any] = {}
    compile_type(node).compare(None, empty, "f:x", changed=changed, removed={})
    assert changed == {"f:x": {}}


def test_faults_are_bounded() -> None:
    value = [1] * 1000
    assert len(faults_of(ListOf(items=String()), value)) == 100
    assert len(faults_of(MapOf(values=String()), {str(i): 1 for i in range(1000)})) == 100


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0, True), (1, True, False), ({"a": [1]}, {"a": [1.0]}, True), ({"a": 1}, {"b": 1}, False),
        ([1], [1, 2], False), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), (None, {}, False),
        ("1", 1, False),
    ],
)  # fmt: skip
def test_equality_is_that_of_json(one: Any, other: Any, expected: bool) -> None:
    assert same(one, other) is expected


@pytest.mark.timeout(10)
def test_sets_of_thousands_of_items_are_merged_in_proportion_to_their_length() -> None:
    items = [f"m{n}" for n in range(50_000)]
    texts = compile_type(ListOf(items=String(), semantics=ListType.SET))
    merged = texts.merge(items, items[::2])
    assert set(merged) == set(items)
