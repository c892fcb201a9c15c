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
    "operation",
    [
        {"op": "test", "path": "/spec/scope", "value": "secret"},
        {"op": "test", "path": "/spec/none", "value": 1},
        {"op": "test", "path": "/spec/list/0", "value": True},
        {"op": "test", "path": "/spec/scope"},
        {"op": "remove", "path": "/spec/none"},
        {"op": "replace", "path": "/spec/none/deep", "value": 1},
        {"op": "frobnicate", "path": "/spec"},
        {"op": "add", "path": "/spec/scope/x", "value": 1},
        {"op": "add", "path": "/spec/list/9", "value": 1},
        {"op": "add", "path": "/spec/list/-1", "value": 1},
        {"op": "add", "path": "/spec/list/x", "value": 1},
        {"op": "add", "path": "spec", "value": 1},
        {"op": "add", "path": 7, "value": 1},
        {"op": "add", "path": "/spec"},
        {"op": "add"},
        {"op": "copy", "path": "/x"},
        {"op": "copy", "from": "/none", "path": "/x"},
        {"op": "move", "from": "/spec", "path": "/spec/inside"},
        {"op": ["add"], "path": "/x", "value": 1},
        {},
    ],
)
def test_an_operation_that_does_not_fit_is_unprocessable(operation: dict[str, Any]) -> None:
    error = refusal(lambda: applied(operation))
    assert error.status()["message"] == (
        "the server rejected our request due to an error in our request"
    )
    assert (error.code, error.reason) == (422, "Invalid")


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
