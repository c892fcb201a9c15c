import copy
from contextlib import suppress
from typing import Any

import orjson
from hypothesis import assume, given
from hypothesis import strategies as st

from apis.meta.errors import StatusError
from apis.meta.patch import merge, parse_json_patch, parse_merge_patch

keys = st.sampled_from(["a", "b", "c", "~/"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["", "x", "1"]))
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(keys, documents, max_size=3)
paths = st.lists(
    st.sampled_from(["a", "b", "0", "1", "-", "~0~1", "", "-1", "01"]), max_size=4
).map(lambda parts: "".join(f"/{part}" for part in parts))
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": paths},
    optional={"value": documents, "from": paths},
)


def without_nulls(value: Any) -> Any:
    """Objects without null fields: what a merge patch can make."""
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}


def difference(old: Any, new: Any) -> Any:
    """The merge patch that leads from `old` to `new`."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    patch = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old or old[key] != value or type(old[key]) is not type(value):
            patch[key] = difference(old.get(key), value)
    return patch


@given(documents, documents)
def test_merging_changes_neither_argument(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    merge(target, patch)
    assert (target, patch) == before


@given(documents, documents)
def test_merging_twice_is_merging_once(target: Any, patch: Any) -> None:
    once = merge(target, patch)
    assert merge(once, patch) == once


@given(documents)
def test_an_empty_patch_changes_no_object(target: Any) -> None:
    assert merge(target, {}) == (target if isinstance(target, dict) else {})


@given(objects, objects)
def test_a_difference_leads_to_its_end(old: Any, new: Any) -> None:
    wanted = without_nulls(new)
    assert merge(without_nulls(old), difference(without_nulls(old), wanted)) == wanted


@given(objects, objects, objects)
def test_patches_in_a_row_are_one_patch(target: Any, first: Any, second: Any) -> None:
    """Where the first deletes nothing that the second would have to delete again."""
    first = without_nulls(first)
    assume(fit(first, second))
    assert without_nulls(merge(merge(target, first), second)) == without_nulls(
        merge(target, merge_patches(first, second))
    )


def fit(first: Any, second: Any) -> bool:
    """No patch can say that an object takes the place of whatever is there: so it must not be that
    the first puts a list or scalar where the second has an object."""
    if not isinstance(second, dict):
        return True
    return isinstance(first, dict) and all(
        fit(first[key], item) for key, item in second.items() if key in first
    )


def merge_patches(first: Any, second: Any) -> Any:
    """The patch that does both; unlike applying one to the other it keeps deletions."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second
    return {**first, **{key: merge_patches(first.get(key), item) for key, item in second.items()}}


@given(objects, objects)
def test_an_applied_merge_patch_shares_nothing(old: Any, patch: Any) -> None:
    before = copy.deepcopy(old)
    new = parse_merge_patch(orjson.dumps(patch)).apply(old)
    scramble(new)
    assert old == before


@given(objects, st.lists(operations, max_size=6))
def test_a_json_patch_never_changes_the_object_and_fails_only_with_a_status(
    old: Any, patch: Any
) -> None:
    before = copy.deepcopy(old)
    parsed = parse_json_patch(orjson.dumps(patch))
    with suppress(StatusError):
        new = parsed.apply(old)
        assert parsed.apply(old) == new
        scramble(new)
    assert old == before


def scramble(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            scramble(item)
        value["scrambled"] = True
    elif isinstance(value, list):
        for item in value:
            scramble(item)
        value.append("scrambled")
