"""Comparison of JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import codec
from quotaapi.registry.values import same

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_a_copy_is_the_same(value: Any) -> None:
    assert same(codec.copy(value), value)


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), (0, False), ([1], [True]), ({"a": 0}, {"a": False})]
)
def test_what_python_holds_equal_may_differ(one: object, other: object) -> None:
    assert not same(one, other)


def test_the_order_of_keys_is_nothing() -> None:
    assert same({"a": 1, "b": [2]}, {"b": [2], "a": 1})
