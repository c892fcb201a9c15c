"""Sets of field paths, in the form in which `managedFields` shows them: FieldsV1.

    {"f:spec": {".": {}, "f:metrics": {"f:cpu": {}}}}  =  .spec, .spec.metrics.cpu

A set is a tree of path elements, kept as the very JSON that is stored, so that nothing is
converted on the way in or out:

    f:<name>   a field                      k:<json object>  an item of a list, by its keys
    v:<json>   a value in a set             i:<index>        an item of a list, by its place

A node that is empty is a member of the set; one with children is a member where it has ".".
So {} and {".": {}} mean the same, and only the former is written. No node is empty otherwise.

Sets are values: every function answers a set that may share parts with its arguments, and
changes none. Levels are in kube-apiserver's order: ".", fields, keys, values, indexes.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from apis.meta import codec
from apis.meta.fields import go_quote

FieldSet = dict[str, Any]

LEAF: Final[FieldSet] = {}
"""A member without members beneath it. Shared: never change it."""

_SELF: Final = "."
_UNUSUAL: Final = re.compile(r"[ !\\]|:[-0-9tfn]")
_MEMBER: Final[FieldSet] = {_SELF: LEAF}
"""The long form of LEAF, with which leaves take part in operations on levels."""


def is_member(node: FieldSet) -> bool:
    return not node or _SELF in node


def as_member(node: FieldSet | None) -> FieldSet:
    """`node` and its own path; None is a node without members."""
    if not node:
        return LEAF
    return node if _SELF in node else {_SELF: LEAF, **node}


def value_element(value: Any) -> str:
    """The element of a scalar in a set."""
    return f"v:{codec.encode(value).decode()}"


def key_element(keys: dict[str, Any]) -> str:
    """The element of an item in a list of type map; `keys` are in the order of their names."""
    return f"k:{codec.encode(keys).decode()}"


# Algebra


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one or not other:
        return one or other
    result = None
    added = False
    for key, theirs in other.items():
        mine = one.get(key)
        if mine is None:
            joint, added = theirs, True
        elif mine is theirs or (not mine and not theirs):
            continue
        else:
            joint = union(mine or _MEMBER, theirs or _MEMBER)
            if joint is mine:
                continue
        if result is None:
            result = dict(one)
        result[key] = joint
    if result is None:
        return one
    return _in_order(result) if added else result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of `one` that are none of `other`'s: what lies beneath those stays."""
    result = None
    for key in one if len(one) <= len(other) else other:
        mine, theirs = one.get(key), other.get(key)
        if mine is None or theirs is None:
            continue
        if not mine and not theirs:
            left = LEAF
        else:
            long = mine or _MEMBER
            left = difference(long, theirs or _MEMBER)
            if left is long:
                continue
        if result is None:
            result = dict(one)
        if left:
            result[key] = _collapsed(left)
        else:
            del result[key]
    return one if result is None else result


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for key, mine in one.items():
        theirs = other.get(key)
        if theirs is None:
            continue
        if not mine and not theirs:
            result[key] = LEAF
        elif common := intersection(mine or _MEMBER, theirs or _MEMBER):
            result[key] = _collapsed(common)
    return result


def _collapsed(node: FieldSet) -> FieldSet:
    return LEAF if len(node) == 1 and _SELF in node else node


# Order


def ordered(fields: FieldSet) -> FieldSet:
    """`fields` with every level in order."""
    return _in_order({key: ordered(child) if child else LEAF for key, child in fields.items()})


def _in_order(level: FieldSet) -> FieldSet:
    return {key: level[key] for key in sorted_elements(level)}


def sorted_elements(elements: Iterable[str]) -> list[str]:
    """The elements of one level in order.

    The order of texts is right for ".", for names, and one kind after the other. What is JSON has
    an order of its own, which differs where there are numbers, or signs that come before a quote.
    """
    keys = sorted(elements)
    if len(keys) > 1 and keys[-2][0] in "ikv":
        coded = [key for key in keys if key[0] in "ikv"]
        if _UNUSUAL.search("".join(coded)) or not all(key.endswith(('"', '"}')) for key in coded):
            keys.sort(key=_rank)
    return keys


def _rank(element: str) -> tuple[Any, ...]:
    kind, rest = element[:2], element[2:]
    match kind:
        case "f:":
            return (1, rest)
        case "k:":
            keys = codec.decode_json(rest.encode()).value
            return (2, *((name, *_value_rank(keys[name])) for name in sorted(keys)))
        case "v:":
            return (3, *_value_rank(codec.decode_json(rest.encode()).value))
        case "i:":
            return (4, int(rest))
        case _:
            return (0,)


def _value_rank(value: Any) -> tuple[Any, ...]:
    """Numbers, texts, truth values, null; containers, which no element has, by their JSON."""
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case None:
            return (3,)
        case _:
            return (4, codec.encode_sorted(value))


# Reading


def parse(value: Any) -> FieldSet:
    """A set that a client sent, in canonical form. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("a set of fields is an object")  # noqa: TRY004 - the client's mistake
    fields: FieldSet = {}
    for element, child in value.items():
        node = parse(child)
        if element == _SELF:
            fields[_SELF] = LEAF
        else:
            element = _canonical(element)
            fields[element] = union(fields[element], node) if element in fields else node
    return _in_order({key: _collapsed(child) for key, child in fields.items()})


def _canonical(element: str) -> str:
    kind, rest = element[:2], element[2:]
    if kind == "f:":
        return element
    if kind == "i:":
        return f"i:{int(rest)}"
    if kind not in ("k:", "v:"):
        raise ValueError(f"unknown path element {element[:64]}")
    value = codec.decode_json(rest.encode()).value
    if kind == "v:":
        return value_element(value)
    if not isinstance(value, dict):
        raise ValueError("keys are an object")  # noqa: TRY004 - the client's mistake
    return key_element({name: value[name] for name in sorted(value)})


# Telling


def paths(fields: FieldSet) -> Iterator[str]:
    """Every member as text (`.spec.workers[name="a"].min`), a level's own before what is beneath."""
    yield from _paths(fields, "")


def _paths(level: FieldSet, path: str) -> Iterator[str]:
    for element, child in level.items():
        if element != _SELF and is_member(child):
            yield path + element_text(element)
    for element, child in level.items():
        if child:
            yield from _paths(child, path + element_text(element))


def element_text(element: str) -> str:
    """One element as it stands in a path: `.name`, `[name="a"]`, `[="a"]`."""
    kind, rest = element[:2], element[2:]
    if kind == "f:":
        return f".{rest}"
    if kind == "i:":
        return f"[{rest}]"
    value = codec.decode_json(rest.encode()).value
    if kind == "v:":
        return f"[={_value_text(value)}]"
    return f"[{','.join(f'{name}={_value_text(value[name])}' for name in sorted(value))}]"


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return go_quote(value)
    return codec.encode(value).decode()
