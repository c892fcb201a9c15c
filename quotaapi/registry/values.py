"""Comparison of plain JSON."""

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Equality as JSON sees it: the order of keys is nothing, and `1`, `1.0`, `true` differ.

    Python's `==` decides most cases at C speed; the types are only looked at where it holds.
    """
    return bool(one == other) and _same_types(one, other)


def _same_types(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return all(_same_types(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(_same_types, one, other))
    return True
