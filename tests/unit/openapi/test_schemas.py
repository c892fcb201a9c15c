"""From nodes to schemas, in both versions."""

import pytest

from apis.meta.openapi.schemas import QUANTITY, V2, V3, Ref, preserves_unknown, schema_of
from apis.meta.structure import (
    Anything,
    Boolean,
    Format,
    Integer,
    IntOrString,
    ListOf,
    ListType,
    MapOf,
    Node,
    Number,
    QuantityText,
    String,
    Struct,
)

NAMED = Struct(fields={"name": String()}, required=("name",))
OPEN = Struct(doc="Open.", fields={"known": String()}, required=("known",), preserve_unknown=True)
PRESERVED = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("node", "schema"),
    [
        (String(enum=("a", "b")), {"type": "string", "enum": ["a", "b"]}),
        (
            String(pattern="^a", min_length=1, max_length=2),
            {"type": "string", "pattern": "^a", "minLength": 1, "maxLength": 2},
        ),
        (String(format=Format.DATE_TIME), {"type": "string", "format": "date-time"}),
        (
            Integer(minimum=0, maximum=9),
            {"type": "integer", "format": "int64", "minimum": 0, "maximum": 9},
        ),
        (Number(minimum=0.5), {"type": "number", "format": "double", "minimum": 0.5}),
        (Boolean(default=False), {"type": "boolean", "default": False}),
        (MapOf(values=Boolean(), max_properties=3),
         {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 3}),
        (Anything(), PRESERVED),
    ],
)  # fmt: skip
def test_both_versions_say_a_plain_field_alike(node, schema) -> None:
    assert schema_of(node, V2) == schema == schema_of(node, V3)


@pytest.mark.parametrize(("name", "length"), [(Format.DNS_LABEL, 63), (Format.DNS_SUBDOMAIN, 253)])
def test_a_dns_name_is_a_pattern_and_a_length(name, length) -> None:
    schema = schema_of(String(format=name), V3)

    assert schema["maxLength"] == length
    assert schema["pattern"].startswith("^[a-z0-9]")


def test_a_struct_requires_what_has_no_default() -> None:
    node = Struct(fields={"a": String(), "b": String(default="x")}, required=("a", "b"))

    assert schema_of(node, V3)["required"] == ["a"]


def test_a_map_list_says_its_keys_and_how_a_strategic_patch_merges_it() -> None:
    schema = schema_of(ListOf(items=NAMED, semantics=ListType.MAP, keys=("name",)), V3)

    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == ["name"]
    assert schema["x-kubernetes-patch-merge-key"] == "name"
    assert schema["x-kubernetes-patch-strategy"] == "merge"


def test_a_set_is_merged_and_an_atomic_list_is_not() -> None:
    merged = schema_of(ListOf(items=String(), semantics=ListType.SET), V3)
    replaced = schema_of(ListOf(items=String(), min_items=1, max_items=2), V3)

    assert (merged["x-kubernetes-list-type"], merged["x-kubernetes-patch-strategy"]) == (
        "set",
        "merge",
    )
    assert replaced == {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": 2,
        "x-kubernetes-list-type": "atomic",
    }


def test_what_is_immutable_says_so_to_programs_and_to_people() -> None:
    schema = schema_of(String(doc="a name", immutable=True), V3)

    assert schema["description"] == "A name. Immutable."
    assert schema["x-kubernetes-validations"][0]["rule"] == "self == oldSelf"


def test_bounds_of_a_quantity_are_told_in_words() -> None:
    schema = schema_of(QuantityText(doc="CPUs", minimum="0", maximum="8"), V3)

    assert schema["description"] == "CPUs. At least 0. At most 8."


def test_a_reference_stands_alone_in_version_3_and_beside_its_description_in_version_2() -> None:
    node = QuantityText(doc="CPUs.")

    assert schema_of(node, V2) == {"description": "CPUs.", "$ref": f"#/definitions/{QUANTITY}"}
    assert schema_of(node, V3) == {
        "description": "CPUs.",
        "allOf": [{"$ref": f"#/components/schemas/{QUANTITY}"}],
    }
    assert schema_of(Ref(name="x"), V3) == {"$ref": "#/components/schemas/x"}


def test_the_bound_of_an_int_or_string_is_told_in_words() -> None:
    assert schema_of(IntOrString(doc="Surge.", minimum=1), V2)["description"] == (
        "Surge. At least 1."
    )


def test_unknown_fields_are_allowed_beside_the_known_ones_in_version_3() -> None:
    schema = schema_of(OPEN, V3)

    assert schema["x-kubernetes-preserve-unknown-fields"] is True
    assert list(schema["properties"]) == ["known"]


def test_kubectls_that_read_version_2_refuse_no_field_that_is_preserved() -> None:
    assert schema_of(OPEN, V2) == {"description": "Open.", **PRESERVED}
    assert schema_of(ListOf(items=OPEN), V2)["items"] == {"description": "Open.", **PRESERVED}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (OPEN, True),
        (Struct(fields={"a": ListOf(items=OPEN)}), True),
        (MapOf(values=Anything()), True),
        (NAMED, False),
        (MapOf(values=NAMED), False),
    ],
)
def test_preserved_fields_are_found_at_any_depth(node, expected) -> None:
    assert preserves_unknown(node) is expected


def test_a_node_without_a_schema_is_refused() -> None:
    with pytest.raises(TypeError, match="no schema for Node"):
        schema_of(Node(), V3)
