import pytest

from apis.meta import fieldset
from apis.meta.fieldset import LEAF, FieldSet

SPEC: FieldSet = {"f:spec": {".": {}, "f:a": {}, "f:b": {"f:c": {}}}}


def test_a_union_has_the_members_of_both_in_order() -> None:
    other: FieldSet = {"f:metadata": {"f:x": {}}, "f:spec": {"f:b": {}}}
    expected = {
        "f:metadata": {"f:x": {}},
        "f:spec": {".": {}, "f:a": {}, "f:b": {".": {}, "f:c": {}}},
    }
    joint = fieldset.union(SPEC, other)
    assert joint == expected
    assert list(joint) == list(expected)


def test_a_difference_keeps_what_lies_beneath_a_member_that_goes() -> None:
    assert fieldset.difference(SPEC, {"f:spec": LEAF}) == {
        "f:spec": {"f:a": {}, "f:b": {"f:c": {}}}
    }


def test_a_difference_with_only_deeper_members_leaves_the_leaf() -> None:
    assert fieldset.difference({"f:spec": LEAF}, {"f:spec": {"f:a": {}}}) == {"f:spec": {}}


def test_a_level_that_loses_its_last_member_is_gone() -> None:
    assert fieldset.difference(SPEC, SPEC) == {}


def test_an_intersection_has_the_members_of_neither_alone() -> None:
    other: FieldSet = {"f:spec": {"f:a": {}, "f:b": {}, "f:z": {}}}
    assert fieldset.intersection(SPEC, other) == {"f:spec": {"f:a": {}}}


def test_a_set_that_loses_nothing_is_the_same_object() -> None:
    assert fieldset.difference(SPEC, {"f:other": LEAF}) is SPEC
    assert fieldset.union(SPEC, {"f:spec": {"f:a": {}}}) is SPEC


def test_elements_are_in_the_order_of_their_kinds_and_values() -> None:
    elements = [
        'v:"b"', "f:z", "i:10", 'k:{"port":80}', "i:9", 'k:{"port":443}', "v:10", "v:9", ".", "f:a",
        'v:"a b"', 'v:"a"', "v:true",
    ]  # fmt: skip
    assert fieldset.sorted_elements(elements) == [
        ".", "f:a", "f:z", 'k:{"port":80}', 'k:{"port":443}', "v:9", "v:10", 'v:"a"', 'v:"a b"',
        'v:"b"', "v:true", "i:9", "i:10",
    ]  # fmt: skip


def test_paths_tell_a_level_before_what_lies_beneath_it() -> None:
    fields: FieldSet = {
        "f:a": {".": {}, "f:x": {}},
        "f:b": {'k:{"name":"n","port":1}': {".": {}, "f:y": {}}, 'v:"s"': {}},
    }
    assert list(fieldset.paths(fields)) == [
        ".a", ".a.x", '.b[name="n",port=1]', '.b[="s"]', '.b[name="n",port=1].y',
    ]  # fmt: skip


def test_what_a_client_sends_is_brought_into_canonical_form() -> None:
    sent: FieldSet = {"f:b": {".": {}}, 'k:{ "y": 1, "x": 2 }': {}, "f:a": {}}
    parsed = fieldset.parse(sent)
    assert parsed == {"f:a": {}, "f:b": {}, 'k:{"x":2,"y":1}': {}}
    assert list(parsed) == ["f:a", "f:b", 'k:{"x":2,"y":1}']


@pytest.mark.parametrize(
    "sent", [[], {"x": {}}, {"f:a": 1}, {"k:[": {}}, {"k:1": {}}, {"i:x": {}}, {"q:1": {}}]
)
def test_what_is_no_set_is_refused(sent: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the client is told nothing of it
        fieldset.parse(sent)
