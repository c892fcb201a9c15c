"""Bringing an object into its kind's shape: unknown fields go, defaults come, values get one form.

Compiled from declarations like the checks. Both passes take any JSON and leave alone what is of
another type than declared: naming that is validation's part.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from apis.meta import quantity
from apis.meta.structure import (
    ABSENT,
    MAX_FAULTS,
    Integer,
    ListOf,
    MapOf,
    Node,
    QuantityText,
    Struct,
)

Pruner = Callable[[Any, str, list[str]], None]
"""(value, its path, paths dropped): removes in place what is unknown."""

Defaulter = Callable[[Any], Any]
"""From a value to the value to keep; containers are changed in place."""

LARGEST_EXACT_FLOAT = 2**53
"""Whole floats up to here are integers that a client wrote as `3.0`."""


# Pruning


def _compile_pruner(node: Node) -> Pruner | None:
    """None where nothing beneath `node` can be unknown."""
    match node:
        case Struct():
            return prune_struct(node)
        case ListOf():
            return _prune_items(_compile_pruner(node.items))
        case MapOf():
            return _prune_values(_compile_pruner(node.values))
        case _:
            return None


def prune_struct(
    node: Struct, *, beside: frozenset[str] = frozenset(), root: bool = False
) -> Pruner:
    known = frozenset(node.fields) | beside
    dot = "" if root else "."
    preserve = node.preserve_unknown
    compiled = ((name, _compile_pruner(child)) for name, child in node.fields.items())
    children = tuple((name, f"{dot}{name}", child) for name, child in compiled if child is not None)

    def prune(value: Any, path: str, dropped: list[str]) -> None:
        if type(value) is not dict:
            return
        if not preserve and not value.keys() <= known:
            for name in [name for name in value if name not in known]:
                del value[name]
                if len(dropped) < MAX_FAULTS:
                    dropped.append(f"{path}{dot}{name}")
        for name, step, child in children:
            if name in value:
                child(value[name], path + step, dropped)

    return prune


def _prune_items(child: Pruner | None) -> Pruner | None:
    if child is None:
        return None

    def prune(value: Any, path: str, dropped: list[str]) -> None:
        if type(value) is list:
            for index, item in enumerate(value):
                child(item, f"{path}[{index}]", dropped)

    return prune


def _prune_values(child: Pruner | None) -> Pruner | None:
    if child is None:
        return None

    def prune(value: Any, path: str, dropped: list[str]) -> None:
        if type(value) is dict:
            for key, item in value.items():
                child(item, f"{path}[{key}]", dropped)

    return prune


# Defaults, nulls and canonical values


def _compile_defaulter(node: Node) -> Defaulter | None:
    """None where `node` has nothing to fill in or to rewrite."""
    match node:
        case Struct():
            return default_struct(node)
        case ListOf():
            return _default_items(node.items)
        case MapOf():
            return _default_values(node.values)
        case QuantityText():
            return canonical_quantity
        case Integer():
            return whole_number
        case _:
            return None


def default_struct(node: Struct) -> Defaulter:
    declared = frozenset(node.fields)
    compiled = (
        (name, _compile_defaulter(child), child.default) for name, child in node.fields.items()
    )
    steps = tuple(step for step in compiled if step[1] is not None or step[2] is not ABSENT)

    def apply(value: Any) -> Any:
        if type(value) is not dict:
            return value
        if None in value.values():
            for name in [n for n, v in value.items() if v is None and n in declared]:
                del value[name]
        for name, convert, default in steps:
            current = value.get(name, ABSENT)
            if current is ABSENT:
                if default is ABSENT:
                    continue
                current = value[name] = deepcopy(default)
            if convert is not None:
                kept = convert(current)
                if kept is not current:
                    value[name] = kept
        return value

    return apply


def _default_element(node: Node) -> Defaulter | None:
    """As a defaulter, for what stands in a list or a map: only a default removes a null there."""
    convert, default = _compile_defaulter(node), node.default
    if default is ABSENT:
        return convert

    def apply(value: Any) -> Any:
        if value is None:
            value = deepcopy(default)
        return value if convert is None else convert(value)

    return apply


def _default_items(items: Node) -> Defaulter | None:
    convert = _default_element(items)
    if convert is None:
        return None

    def apply(value: Any) -> Any:
        if type(value) is list:
            for index, item in enumerate(value):
                kept = convert(item)
                if kept is not item:
                    value[index] = kept
        return value

    return apply


def _default_values(values: Node) -> Defaulter | None:
    convert = _default_element(values)
    if convert is None:
        return None

    def apply(value: Any) -> Any:
        if type(value) is dict:
            for key, item in value.items():  # replacing values keeps the iteration valid
                kept = convert(item)
                if kept is not item:
                    value[key] = kept
        return value

    return apply


def canonical_quantity(value: Any) -> Any:
    """In canonical form, where it is a quantity at all."""
    text = quantity.coerce(value)
    if text is None:
        return value
    try:
        return quantity.canonical(text)
    except ValueError:
        return value


def whole_number(value: Any) -> Any:
    """An integer, where a float is one."""
    if type(value) is float and value.is_integer() and abs(value) <= LARGEST_EXACT_FLOAT:
        return int(value)
    return value
