"""What a schema drops, fills in, makes canonical and holds fast."""

from typing import Any

import pytest

from apis.meta.schema import Schema
from apis.meta.structure import (
    Anything,
    Boolean,
    Integer,
    ListOf,
    ListType,
    MapOf,
    Node,
    QuantityText,
    String,
    Struct,
)


def schema(required: tuple[str, ...] = (), **fields: Node) -> Schema:
    return Schema(Struct(fields=fields, required=required))


def defaulted(obj: Any, **fields: Node) -> Any:
    Schema(Struct(fields=fields)).default(obj)
    return obj


def test_unknown_fields_are_dropped_and_named_with_their_paths() -> None:
    item = Struct(fields={"a": String()})
    kind = schema(spec=Struct(fields={"list": ListOf(items=item), "map": MapOf(values=item)}))
    obj = {
        "apiVersion": "v",
        "kind": "k",
        "metadata": {"anything": 1},
        "extra": 1,
        "spec": {"nope": 1, "list": [{"a": "x", "b": 1}], "map": {"k": {"c": 1}}},
    }

    dropped = kind.prune(obj)

    assert dropped == ["extra", "spec.nope", "spec.list[0].b", "spec.map[k].c"]
    assert obj == {
        "apiVersion": "v",
        "kind": "k",
        "metadata": {"anything": 1},
        "spec": {"list": [{"a": "x"}], "map": {"k": {}}},
    }


def test_unknown_fields_are_kept_where_the_declaration_says_so() -> None:
    inner = Struct(fields={"known": Struct(fields={})}, preserve_unknown=True)
    obj = {"spec": {"other": {"x": None}, "known": {"y": 1}}}

    assert schema(spec=inner).prune(obj) == ["spec.known.y"]
    assert obj == {"spec": {"other": {"x": None}, "known": {}}}


def test_defaults_fill_what_is_absent_and_what_is_null() -> None:
    fields = {"a": Integer(default=1), "b": Boolean(default=True), "c": String(default="x")}

    assert defaulted({"b": None, "c": "y"}, **fields) == {"a": 1, "b": True, "c": "y"}


def test_a_null_without_a_default_is_dropped() -> None:
    assert defaulted({"a": None}, a=String()) == {}


def test_a_null_that_is_required_counts_as_missing() -> None:
    kind = schema(a=String(), required=("a",))
    obj: dict[str, Any] = {"a": None}
    kind.default(obj)

    assert [str(error) for error in kind.validate(obj)] == ["a: Required value"]


def test_a_null_that_nobody_declared_is_preserved() -> None:
    spec = Struct(preserve_unknown=True)

    assert defaulted({"spec": {"x": None}}, spec=spec) == {"spec": {"x": None}}


def test_a_null_in_a_map_takes_the_default_of_its_values() -> None:
    values = QuantityText(default="0")

    assert defaulted({"m": {"cpu": None}}, m=MapOf(values=values)) == {"m": {"cpu": "0"}}


def test_a_null_in_a_list_or_map_without_default_is_of_the_wrong_type() -> None:
    kind = schema(m=MapOf(values=String()), items=ListOf(items=String()))
    obj = {"m": {"a": None}, "items": [None]}
    kind.default(obj)

    assert [error.field for error in kind.validate(obj)] == ["m[a]", "items[0]"]


def test_a_default_is_a_copy_of_its_own() -> None:
    kind = schema(a=Anything(default={"deep": []}))
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    kind.default(first)
    first["a"]["deep"].append(1)
    kind.default(second)

    assert second == {"a": {"deep": []}}


def test_a_default_is_itself_defaulted() -> None:
    inner = Struct(fields={"b": QuantityText(default="1024Mi")}, default={})

    assert defaulted({}, a=inner) == {"a": {"b": "1Gi"}}


def test_fields_of_an_absent_struct_are_not_defaulted() -> None:
    assert defaulted({}, a=Struct(fields={"b": Integer(default=1)})) == {}


@pytest.mark.parametrize(
    ("given", "kept"),
    [("1024Gi", "1Ti"), ("0.5", "500m"), (3, "3"), (0.5, "500m"), ("many", "many"), (True, True)],
)
def test_quantities_become_canonical(given: object, kept: object) -> None:
    assert defaulted({"q": given}, q=QuantityText()) == {"q": kept}


@pytest.mark.parametrize(
    ("given", "kept"), [(3.0, 3), (3.5, 3.5), (1e300, 1e300), (float("inf"), float("inf"))]
)
def test_a_whole_number_becomes_an_integer(given: object, kept: object) -> None:
    found = defaulted({"n": given}, n=Integer())["n"]

    assert (found, type(found)) == (kept, type(kept))


def test_an_immutable_field_keeps_its_value() -> None:
    kind = schema(spec=Struct(fields={"a": String(immutable=True), "b": String()}))
    old = {"spec": {"a": "1", "b": "1"}}

    errors = kind.validate_update({"spec": {"a": "2", "b": "2"}}, old)

    assert [str(error) for error in errors] == ['spec.a: Invalid value: "2": field is immutable']


def test_an_immutable_field_cannot_be_removed_with_what_holds_it() -> None:
    kind = schema(spec=Struct(fields={"a": String(immutable=True)}))

    assert [e.field for e in kind.validate_update({}, {"spec": {"a": "1"}})] == ["spec.a"]


def test_an_immutable_struct_is_compared_as_a_whole() -> None:
    kind = schema(ref=Struct(fields={"name": String(), "kind": String()}, immutable=True))
    old = {"ref": {"name": "a", "kind": "K"}}

    assert kind.validate_update({"ref": {"kind": "K", "name": "a"}}, old) == []
    assert [e.field for e in kind.validate_update({"ref": {"name": "a"}}, old)] == ["ref"]


def test_nothing_within_a_list_can_be_declared_immutable() -> None:
    with pytest.raises(ValueError, match="list or map"):
        schema(items=ListOf(items=Struct(fields={"a": String(immutable=True)})))


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Struct(fields={}, required=("a",)),
        lambda: ListOf(items=String(), semantics=ListType.MAP),
        lambda: ListOf(items=String(), keys=("name",)),
        lambda: ListOf(items=String(), semantics=ListType.MAP, keys=("name",)),
        lambda: ListOf(
            items=Struct(fields={"name": String()}), semantics=ListType.MAP, keys=("name",)
        ),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(declare: Any) -> None:
    with pytest.raises(ValueError, match=r"declared|keys|key of a list"):
        declare()


def test_a_declaration_is_frozen() -> None:
    struct = Struct(fields={"a": String()})

    with pytest.raises(TypeError):
        struct.fields["b"] = String()  # type: ignore[index]
    with pytest.raises(AttributeError):
        struct.doc = "x"  # type: ignore[misc]


def test_items_of_a_list_are_defaulted_and_made_canonical_one_by_one() -> None:
    items = ListOf(items=QuantityText(default="0"))

    assert defaulted({"q": [None, 1, "1024Ki"]}, q=items) == {"q": ["0", "1", "1Mi"]}
