"""Validation errors in kube-apiserver's words: those of its recorded answers, and their kin."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import BY_KIND, QUOTA, SHOOT, SHOOT_LIMIT_RANGE
from apis.meta import codec
from apis.meta.schema import Schema
from apis.meta.structure import (
    MAX_FAULTS,
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
from tests.builders import a_quota
from tests.shared_material import shared


def causes(node: Node, value: object) -> list[tuple[str, str, str]]:
    """(reason, field, message) of every fault of `value` at the field `f`."""
    schema = Schema(Struct(fields={"f": node}))
    return [(e.type.value, e.field, e.message) for e in schema.validate({"f": value})]


def messages(node: Node, value: object) -> list[str]:
    return [message for _reason, _field, message in causes(node, value)]


SPECS: tuple[Any, ...] = (
    {"metrics": {"cpu": "1"}},
    {"scope": "galaxy", "metrics": {"cpu": "1"}},
    {"scope": "project"},
    {"scope": "project", "metrics": {"cpu": "1"}, "clusterLifetimeDays": 0},
    {"scope": "project", "metrics": {"cpu": "1"}, "clusterLifetimeDays": "7"},
    {"scope": 5, "metrics": {"cpu": "1"}},
    [],
    {"scope": "project", "metrics": []},
)
"""The specs of the conformance scenario `schema-validation`."""


@pytest.mark.parametrize("index", range(len(SPECS)))
def test_a_bad_quota_gets_the_causes_that_kube_apiserver_gave(index: int) -> None:
    golden = codec.decode_json(shared("conformance/golden.json").read_bytes()).value
    recorded = golden["schema-validation"][index]["body"]["details"]["causes"]
    quota = a_quota() | {"spec": SPECS[index]}

    found = [
        {"field": error.field, "message": error.message, "reason": error.type.value}
        for error in QUOTA.schema.validate(quota)
    ]

    assert found == recorded


def test_faults_within_a_struct_come_before_its_missing_fields() -> None:
    quota = a_quota() | {"spec": {"scope": "x"}}

    assert [str(error) for error in QUOTA.schema.validate(quota)] == [
        'spec.scope: Unsupported value: "x": supported values: "project", "secret"',
        "spec.metrics: Required value",
    ]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "integer"),
        (1.5, "number"),
        (True, "boolean"),
        ([], "array"),
        ({}, "object"),
        (None, "null"),
    ],
)
def test_a_wrong_type_is_named(value: object, name: str) -> None:
    message = f'Invalid value: "{name}": f in body must be of type string: "{name}"'

    assert causes(String(), value) == [("FieldValueTypeInvalid", "f", message)]


@pytest.mark.parametrize(
    ("node", "value", "wanted"),
    [
        (Integer(), True, "integer"),
        (Integer(), 1.5, "integer"),
        (Number(), "1", "number"),
        (Number(), True, "number"),
        (Boolean(), "true", "boolean"),
        (QuantityText(), {}, "integer,string"),
        (IntOrString(), 1.5, "integer,string"),
        (ListOf(items=Anything()), {}, "array"),
        (MapOf(values=Anything()), [], "object"),
    ],
)
def test_each_type_refuses_others(node: Node, value: object, wanted: str) -> None:
    [message] = messages(node, value)

    assert f"f in body must be of type {wanted}: " in message


@pytest.mark.parametrize(
    ("node", "value", "message"),
    [
        (Integer(minimum=1), 0, "Invalid value: 0: f in body should be greater than or equal to 1"),
        (Integer(maximum=9), 10, "Invalid value: 10: f in body should be less than or equal to 9"),
        (String(min_length=1), "", 'Invalid value: "": f in body should be at least 1 chars long'),
        (String(max_length=2), "abc", "Too long: may not be more than 2 bytes"),
        (String(pattern="^a$"), "a\n", "Invalid value: \"a\\n\": f in body should match '^a$'"),
        (
            String(format=Format.DATE_TIME),
            "noon",
            'Invalid value: "noon": f in body must be of type date-time: "noon"',
        ),
        (QuantityText(minimum="0"), "-1", 'Invalid value: "-1": must be greater than or equal to 0'),
        (QuantityText(maximum="1k"), "2k", 'Invalid value: "2k": must be less than or equal to 1k'),
        (IntOrString(minimum=0), -1, "Invalid value: -1: f in body should be greater than or equal to 0"),
        (IntOrString(pattern="^[0-9]%$"), "x", "Invalid value: \"x\": f in body should match '^[0-9]%$'"),
        (ListOf(items=Anything(), max_items=1), [1, 2], "Too many: 2: must have at most 1 item"),
        (ListOf(items=Anything(), min_items=1), [], "Invalid value: 0: f in body should have at least 1 items"),
        (MapOf(values=Anything(), max_properties=1), {"a": 1, "b": 2}, "Too many: 2: must have at most 1 item"),
    ],
)  # fmt: skip
def test_a_bound_that_is_broken_is_named(node: Node, value: object, message: str) -> None:
    assert messages(node, value) == [message]


def test_what_is_no_quantity_is_told_the_pattern() -> None:
    [(reason, field, message)] = causes(MapOf(values=QuantityText()), {"cpu": "many"})

    assert (reason, field) == ("FieldValueInvalid", "f[cpu]")
    assert message.startswith('Invalid value: "many": quantities must match the regular expression')


@pytest.mark.parametrize(
    "node", [String(format=Format.DNS_LABEL), String(format=Format.DNS_SUBDOMAIN)]
)
@pytest.mark.parametrize("value", ["", "a/b", "Upper", "-a", "a b"])
def test_a_name_that_could_not_be_a_key_is_refused(node: Node, value: str) -> None:
    assert len(causes(node, value)) == 1


def test_faults_are_told_in_the_order_of_the_schema() -> None:
    """What is missing has its place among what is wrong, whatever order the object has."""
    workers = [{"autoScalerMax": "x", "machineType": "m", "name": 1}]
    spec = {"kubernetes": {}, "cloud": {"aws": {"workers": workers}, "region": 5}}
    obj = {"spec": spec, "metadata": {}, "apiVersion": "v", "kind": "k"}

    assert [error.field for error in SHOOT.schema.validate(obj)] == [
        "spec.cloud.profile",
        "spec.cloud.region",
        "spec.cloud.secretBindingRef",
        "spec.cloud.aws.workers[0].name",
        "spec.cloud.aws.workers[0].autoScalerMin",
        "spec.cloud.aws.workers[0].autoScalerMax",
        "spec.cloud.aws.workers[0].volumeType",
        "spec.cloud.aws.workers[0].volumeSize",
        "spec.kubernetes.version",
    ]


def test_an_unknown_text_beside_a_wrong_type_keeps_both_from_hiding_others() -> None:
    limits = {"limits": [{"type": 1, "min": []}, {"max": {"cpu": "x"}}, 3]}
    obj = {"apiVersion": "v", "kind": "k", "metadata": {}, "spec": limits}

    assert [error.field for error in SHOOT_LIMIT_RANGE.schema.validate(obj)] == [
        "spec.limits[0].type",
        "spec.limits[0].type",
        "spec.limits[0].min",
        "spec.limits[1].type",
        "spec.limits[1].max[cpu]",
        "spec.limits[2]",
    ]


def test_a_repeated_item_of_a_set_is_a_duplicate() -> None:
    node = ListOf(items=String(), semantics=ListType.SET)

    assert causes(node, ["a", "b", "a", ""]) == [
        ("FieldValueDuplicate", "f[2]", 'Duplicate value: "a"')
    ]


def test_a_repeated_key_of_a_map_list_is_a_duplicate() -> None:
    item = Struct(fields={"name": String(), "x": Integer()}, required=("name",))
    node = ListOf(items=item, semantics=ListType.MAP, keys=("name",))

    assert causes(node, [{"name": "a", "x": 1}, {"name": "a", "x": 2}]) == [
        ("FieldValueDuplicate", "f[1]", 'Duplicate value: {"name":"a"}')
    ]


def test_items_that_cannot_be_told_apart_are_no_duplicates() -> None:
    item = Struct(fields={"name": String()}, required=("name",))
    node = ListOf(items=item, semantics=ListType.MAP, keys=("name",))

    assert [reason for reason, _field, _message in causes(node, [{}, {}, {"name": []}])] == [
        "FieldValueRequired",
        "FieldValueRequired",
        "FieldValueTypeInvalid",
    ]


def test_every_kind_validates_what_is_nested_too_deeply_to_walk() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for resource in BY_KIND.values():
        obj = {"apiVersion": "v", "kind": "k", "metadata": {}, "spec": {"cloud": deep}, "x": deep}
        resource.schema.prune(obj)
        resource.schema.default(obj)
        resource.schema.validate(obj)


def test_an_answer_stays_small_however_much_is_wrong() -> None:
    many = 10_000
    node = ListOf(items=ListOf(items=Integer(), semantics=ListType.SET))

    assert len(causes(node, [["x"] * many] * 10)) <= 2 * MAX_FAULTS
    assert len(causes(node, [[1] * many] * 10)) <= 2 * MAX_FAULTS
    assert len(causes(MapOf(values=Integer()), dict.fromkeys(map(str, range(many))))) == MAX_FAULTS


def test_all_unknown_fields_are_dropped_and_the_first_are_named() -> None:
    spec = {f"x{number}": 1 for number in range(10_000)}

    assert len(QUOTA.schema.prune({"spec": spec})) == MAX_FAULTS
    assert spec == {}


def test_rules_tell_no_more_than_a_schema_does() -> None:
    metrics = {f"x{number}": "1" for number in range(10_000)}
    quota = a_quota() | {"spec": {"scope": "secret", "metrics": metrics}}

    assert len(QUOTA.rules(quota, None)) == MAX_FAULTS
