import copy
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apis.meta.codec import MAX_DEPTH
from apis.meta.errors import StatusError
from apis.meta.patch import MAX_OPERATIONS, Patch, merge, parse_json_patch, parse_merge_patch
from tests.pace import times_longer

OBJECT: dict[str, Any] = {
    "metadata": {"name": "a", "labels": {"a": "1"}},
    "spec": {"scope": "project", "metrics": {"cpu": "10"}, "list": [1, 2, 3]},
}


def json_patch(*operations: Any) -> Patch:
    return parse_json_patch(orjson.dumps(operations))


def applied(*operations: Any) -> Any:
    old = copy.deepcopy(OBJECT)
    new = json_patch(*operations).apply(old)
    assert old == OBJECT
    return new


def refusal(call: Callable[[], object]) -> StatusError:
    with pytest.raises(StatusError) as raised:
        call()
    return raised.value


# RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_as_the_rfc_shows_it(original: Any, patch: Any, result: Any) -> None:
    assert merge(original, patch) == result


def test_a_merge_patch_leaves_the_object_alone_and_shares_nothing_with_it() -> None:
    old = copy.deepcopy(OBJECT)
    patch = parse_merge_patch(b'{"spec":{"metrics":{"gpu":"1"}}}')
    new = patch.apply(old)
    new["metadata"]["labels"]["a"] = new["spec"]["metrics"]["gpu"] = "changed"
    assert old == OBJECT
    assert patch.apply(old)["spec"]["metrics"] == {"cpu": "10", "gpu": "1"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "error decoding patch: unexpected end of JSON input"),
        (
            b"[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type "
            "map[string]interface {}",
        ),
        (
            b'"x"',
            "error decoding patch: json: cannot unmarshal string into Go value of type "
            "map[string]interface {}",
        ),
    ],
)
def test_what_is_no_merge_patch_is_a_bad_request(data: bytes, message: str) -> None:
    error = refusal(lambda: parse_merge_patch(data))
    assert (error.code, error.message) == (400, message)


def test_json_patch_operations() -> None:
    assert applied(
        {"op": "test", "path": "/spec/scope", "value": "project"},
        {"op": "add", "path": "/metadata/labels/b~1c", "value": "2"},
        {"op": "copy", "from": "/spec/metrics/cpu", "path": "/spec/metrics/gpu"},
        {"op": "move", "from": "/spec/metrics/gpu", "path": "/spec/metrics/gpus"},
        {"op": "replace", "path": "/spec/list/1", "value": None},
        {"op": "add", "path": "/spec/list/-", "value": 4},
        {"op": "remove", "path": "/metadata/labels/a"},
    ) == {
        "metadata": {"name": "a", "labels": {"b/c": "2"}},
        "spec": {
            "scope": "project",
            "metrics": {"cpu": "10", "gpus": "10"},
            "list": [1, None, 3, 4],
        },
    }


@pytest.mark.parametrize(
    ("operation", "what", "why"),
    [
        (
            {"op": "test", "path": "/spec/scope", "value": "secret"},
            'test "/spec/scope"',
            'the value is "project", not "secret"',
        ),
        (
            {"op": "test", "path": "/spec/none", "value": 1},
            'test "/spec/none"',
            "the value is absent or null, not 1",
        ),
        (
            {"op": "test", "path": "/spec/list/0", "value": True},
            'test "/spec/list/0"',
            "the value is 1, not true",
        ),
        (
            {"op": "test", "path": "/spec/scope"},
            'test "/spec/scope"',
            'the value is "project", not absent or null',
        ),
        (
            {"op": "test", "path": "/spec/none/deep", "value": None},
            'test "/spec/none/deep"',
            '"/spec/none" does not exist',
        ),
        ({"op": "remove", "path": "/spec/none"}, 'remove "/spec/none"', 'there is no "none"'),
        ({"op": "remove", "path": ""}, 'remove ""', "that is the whole object"),
        (
            {"op": "replace", "path": "/spec/none/deep", "value": 1},
            'replace "/spec/none/deep"',
            '"/spec/none" does not exist',
        ),
        (
            {"op": "replace", "path": "", "value": 1},
            'replace ""',
            "the whole can be replaced by an object or an array only",
        ),
        (
            {"op": "frobnicate", "path": "/spec"},
            'frobnicate "/spec"',
            "there is no such operation; there are add, remove, replace, move, copy, test",
        ),
        (
            {"op": "add", "path": "/spec/scope/x", "value": 1},
            'add "/spec/scope/x"',
            '"/spec/scope" is no object and no array',
        ),
        (
            {"op": "add", "path": "/spec/list/9", "value": 1},
            'add "/spec/list/9"',
            "the array has 3 items, index 9 is none of them",
        ),
        (
            {"op": "add", "path": "/spec/list/-5", "value": 1},
            'add "/spec/list/-5"',
            "the array has 3 items, index -5 is none of them",
        ),
        (
            {"op": "remove", "path": "/spec/list/-"},
            'remove "/spec/list/-"',
            '"-" is no index of an array',
        ),
        (
            {"op": "add", "path": "/spec/list/x", "value": 1},
            'add "/spec/list/x"',
            '"x" is no index of an array',
        ),
        (
            {"op": "add", "path": "spec", "value": 1},
            'add "spec"',
            'path "spec" does not begin with a slash',
        ),
        ({"op": "add"}, "add", "it has no path"),
        ({"op": "copy", "path": "/x"}, 'copy "/x"', "it has no from"),
        (
            {"op": "copy", "from": "/none/x", "path": "/x"},
            'copy "/x"',
            '"/none" does not exist',
        ),
        (
            {"op": "move", "from": "/spec", "path": "/spec/inside"},
            'move "/spec/inside"',
            '"/spec" does not exist',
        ),
        (
            {},
            "no op",
            "there is no such operation; there are add, remove, replace, move, copy, test",
        ),
    ],
)
def test_an_operation_that_does_not_fit_is_named_with_the_reason(
    operation: dict[str, Any], what: str, why: str
) -> None:
    error = refusal(lambda: applied({"op": "add", "path": "/x", "value": 1}, operation))
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == f"JSON patch: operation [1], {what}, cannot be carried out: {why}"


def test_a_message_shows_the_beginning_of_what_is_long() -> None:
    for operation in (
        {"op": "x" * 10_000, "path": "/" + "x" * 10_000},
        {"op": "test", "path": "/spec", "value": "x" * 10_000},
        {"op": "add", "path": "/spec/list/" + "9" * 10_000},
    ):
        assert len(refusal(lambda: applied(operation)).message) < 500  # noqa: B023 -- called here


# Each of these verdicts is kube-apiserver 1.36's.
@pytest.mark.parametrize(
    ("operation", "spec"),
    [
        ({"op": "test", "path": "/spec/none", "value": None}, {}),
        ({"op": "test", "path": "/spec/none"}, {}),
        ({"op": "replace", "path": "/spec/new", "value": 1}, {"new": 1}),
        ({"op": "replace", "path": "/spec/scope"}, {"scope": None}),
        ({"op": "add", "path": "/spec/new"}, {"new": None}),
        ({"op": "copy", "from": "/spec/none", "path": "/spec/new"}, {"new": None}),
        ({"op": "add", "path": "/spec/list/-1", "value": 4}, {"list": [1, 2, 3, 4]}),
        ({"op": "add", "path": "/spec/list/+0", "value": 0}, {"list": [0, 1, 2, 3]}),
        ({"op": "add", "path": "/spec/list/00", "value": 0}, {"list": [0, 1, 2, 3]}),
        ({"op": "add", "path": "/spec/list/3", "value": 4}, {"list": [1, 2, 3, 4]}),
        ({"op": "remove", "path": "/spec/list/-1"}, {"list": [1, 2]}),
        ({"op": "replace", "path": "/spec/list/-3", "value": 0}, {"list": [0, 2, 3]}),
        ({"op": "add", "path": "/spec/~2", "value": 1}, {"~2": 1}),
        ({"op": "add", "path": "/spec/~01", "value": 1}, {"~1": 1}),
        ({"op": "move", "from": "/spec/scope", "path": "/spec/scope"}, {}),
        ({"op": "add", "path": "/spec/", "value": 1}, {"": 1}),
    ],
)
def test_what_the_rfc_would_refuse_and_kube_apiserver_does_not(
    operation: dict[str, Any], spec: dict[str, Any]
) -> None:
    assert applied(operation)["spec"] == OBJECT["spec"] | spec


@pytest.mark.parametrize(
    ("operation", "found", "field"),
    [
        ({"op": ["add"], "path": "/x"}, "array", "op"),
        ({"op": "add", "path": 7}, "number", "path"),
        ({"op": "copy", "path": "/x", "from": {}}, "object", "from"),
    ],
)
def test_an_operation_whose_names_are_no_texts_is_a_bad_request(
    operation: dict[str, Any], found: str, field: str
) -> None:
    error = refusal(lambda: json_patch(operation))
    assert (error.code, error.message) == (
        400,
        f"error decoding patch: json: cannot unmarshal {found} "
        f"into Go struct field jsonPatchOp.{field} of type string",
    )


@pytest.mark.parametrize(
    ("data", "go_type", "found"),
    [
        (b'{"op":"add"}', "[]handlers.jsonPatchOp", "object"),
        (b"null", "[]handlers.jsonPatchOp", "null"),
        (b"[1]", "handlers.jsonPatchOp", "number"),
    ],
)
def test_what_is_no_list_of_operations_is_a_bad_request(
    data: bytes, go_type: str, found: str
) -> None:
    error = refusal(lambda: parse_json_patch(data))
    assert error.code == 400
    assert error.message == (
        f"error decoding patch: json: cannot unmarshal {found} into Go value of type {go_type}"
    )


def test_a_patch_can_be_applied_again() -> None:
    patch = json_patch(
        {"op": "add", "path": "/x", "value": {}}, {"op": "add", "path": "/x/y", "value": [1]},
        {"op": "add", "path": "/x/y/-", "value": 2},
    )  # fmt: skip
    first = patch.apply(copy.deepcopy(OBJECT))
    assert patch.apply(copy.deepcopy(OBJECT)) == first
    assert first["x"] == {"y": [1, 2]}


def test_the_number_of_operations_is_bounded() -> None:
    operation = {"op": "add", "path": "/x", "value": 1}
    error = refusal(lambda: json_patch(*[operation] * (MAX_OPERATIONS + 1)))
    assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
    assert "10000, got 10001" in error.message


def test_the_most_operations_are_carried_out() -> None:
    operations = [{"op": "add", "path": f"/spec/x{i}", "value": i} for i in range(MAX_OPERATIONS)]
    assert len(applied(*operations)["spec"]) == MAX_OPERATIONS + 3
    few = operations[: MAX_OPERATIONS // 10]
    assert times_longer(lambda: applied(*operations), lambda: applied(*few)) < 40


def test_growth_by_copying_is_bounded() -> None:
    doubling = {"op": "copy", "from": "/spec", "path": "/spec/again"}
    # All of them would be 2^100 times as large.
    copies = [{**doubling, "path": f"/spec/again{i}"} for i in range(100)]
    assert refusal(lambda: applied(*copies)).code == 422


def test_depth_is_bounded() -> None:
    nested: Any = {}
    for _ in range(MAX_DEPTH - 4):
        nested = {"a": nested}
    deep = "/spec" + "/a" * (MAX_DEPTH - 10)
    operations = [
        {"op": "replace", "path": "/spec", "value": nested},
        {"op": "add", "path": deep, "value": {"b": 1}},
    ]
    assert applied(*operations)
    assert refusal(lambda: applied(operations[0], {**operations[1], "value": nested})).code == 422


def test_duplicate_fields_of_a_patch_are_reported() -> None:
    assert parse_merge_patch(b'{"spec":{"a":1,"a":2}}').duplicates == ("spec.a",)
    assert parse_json_patch(b'[{"op":"test","op":"add"}]').duplicates == ("[0].op",)
