"""A kind's fields as merging and ownership see them: structured merge, compiled once per kind.

Each `Type` answers the same questions about a value of its kind:

    owned    every path of the value, its own included: what a new value adds, a gone one removes
    stated   the paths that an applied configuration lays claim to
    compare  what changed (or is new) and what is gone from one value to another
    merge    the live value with a configuration laid over it
    without  the value less the members of a set
    named    a set in which declared fields with members beneath them are members themselves
    check    whether the value is of the type; brings it into canonical form

A *leaf* is owned as a whole: scalars, and lists and objects that are atomic. What a client can
neither own nor remove is *silent*: it takes part in merging alone. What is not declared, where it
is preserved, has the types that its JSON has: objects are granular, everything else is a leaf.

An absent value and an explicit null are different things: absence is the caller's matter, and a
null is, for what has fields or items, the same as an empty one.
"""

from collections.abc import Callable
from typing import Any, Protocol

from apis.meta import codec
from apis.meta.fieldset import LEAF, FieldSet
from apis.meta.gotext import go_syntax, go_type, go_value

Faults = list[str]


class Type(Protocol):
    def owned(self, value: Any) -> FieldSet: ...

    def stated(self, value: Any) -> FieldSet | None:
        """None where the value lays claim to nothing."""
        ...

    def compare(self, old: Any, new: Any, at: str, *, changed: FieldSet, removed: FieldSet) -> None:
        """Put what is found under the element `at` of the two sets, each level in any order."""
        ...

    def merge(self, live: Any, config: Any) -> Any: ...

    def without(self, value: Any, fields: FieldSet) -> Any: ...

    def named(self, fields: FieldSet) -> FieldSet: ...

    def check(self, value: Any, path: str, faults: Faults) -> Any:
        """Answers the value to keep; containers are changed in place."""
        ...


def same(one: Any, other: Any) -> bool:
    """Equality of JSON: `1` and `1.0` are the same, `1` and `true` are not.

    Most values that are compared are equal to the byte, which encoding finds out fastest.
    """
    if type(one) in (dict, list) and type(one) is type(other):
        return codec.encode_sorted(one) == codec.encode_sorted(other) or _same(one, other)
    return _same(one, other)


def _same(one: Any, other: Any) -> bool:
    kind = type(one)
    if kind is not type(other):
        numbers = (int, float)
        return kind in numbers and type(other) in numbers and bool(one == other)
    if kind is dict:
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if kind is list:
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


class Leaf:
    """A scalar. `fault` answers what is wrong with a value that is no null."""

    __slots__ = ("_canonical", "_fault")

    def __init__(
        self, fault: Callable[[Any], str | None], canonical: Callable[[Any], Any] | None = None
    ) -> None:
        self._fault = fault
        self._canonical = canonical

    def owned(self, _value: Any) -> FieldSet:
        return LEAF

    def stated(self, _value: Any) -> FieldSet | None:
        return LEAF

    def compare(self, old: Any, new: Any, at: str, *, changed: FieldSet, removed: FieldSet) -> None:
        del removed  # a leaf that is gone has been found by what contains it
        if not same(old, new):
            changed[at] = LEAF

    def merge(self, _live: Any, config: Any) -> Any:
        return config

    def without(self, value: Any, _fields: FieldSet) -> Any:
        return value

    def named(self, fields: FieldSet) -> FieldSet:
        return fields

    def check(self, value: Any, path: str, faults: Faults) -> Any:
        if value is not None:
            fault = self._fault(value)
            if fault is not None:
                faults.append(f"{path}: {fault}" if path else fault)
            elif self._canonical is not None:
                return self._canonical(value)
        return value


class Atomic(Leaf):
    """A list or an object that is owned as a whole; what is in it is checked all the same."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Type) -> None:
        super().__init__(lambda _value: None)
        self._inner = inner

    def check(self, value: Any, path: str, faults: Faults) -> Any:
        return self._inner.check(value, path, faults)


# What is wrong with a scalar, in the words of structured-merge-diff


def text_fault(value: Any) -> str | None:
    if type(value) is str:
        return None
    return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"


def number_fault(value: Any) -> str | None:
    if type(value) in (int, float):
        return None
    return f"expected numeric (int or float), got {go_type(value)}"


def boolean_fault(value: Any) -> str | None:
    return None if type(value) is bool else f"expected boolean, got &{{{go_value(value)}}}"


def scalar_fault(value: Any) -> str | None:
    if type(value) in (str, int, float, bool):
        return None
    return f"expected any scalar, got &{{{go_value(value)}}}"
