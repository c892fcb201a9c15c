"""Validation compiled from declarations, in the words of kube-apiserver's for custom resources.

A check is told where its value stands as (parent path, step), and joins the two only to report
or to descend: a valid scalar costs no text. Checks collect and never raise, and one that finds
the wrong type says so and goes no further, so that the rest of the object is still checked. Only
lists and maps hold any number of faults: they stop at MAX_FAULTS.
"""

from collections.abc import Callable, Mapping
from typing import Any

from apis.meta import fields
from apis.meta.fields import FieldError
from apis.meta.nearmisses import Meant, meaning
from apis.meta.scalar_checks import Check, scalar_check, wrong_type
from apis.meta.structure import ABSENT, MAX_FAULTS, ListOf, ListType, MapOf, Node, Struct


def compile_check(node: Node, *, root: bool = False) -> Check:
    match node:
        case Struct():
            return _check_struct(node, root=root)
        case ListOf():
            return _check_list(node)
        case MapOf():
            return _check_map(node)
        case _:
            return scalar_check(node) or _accept


def _accept(_value: Any, _parent: str, _step: str, _errors: list[FieldError]) -> None:
    return None


def _check_struct(node: Struct, *, root: bool) -> Check:
    dot = "" if root else "."
    compiled = ((name, compile_check(child)) for name, child in node.fields.items())
    children = tuple(
        (name, f"{dot}{name}", check)
        for name, check in compiled
        if check is not _accept or name in node.required
    )
    required = frozenset(node.required)
    meant = meaning(node.aliases) if node.aliases else None

    def check(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
        path = parent + step
        if type(value) is not dict:
            errors.append(wrong_type(path, value, "object"))
            return
        for name, child_step, child in children:
            item = value.get(name, ABSENT)
            if item is not ABSENT:
                child(item, path, child_step, errors)
            elif name in required:
                why = _written_instead(name, value, meant)
                errors.append(fields.required(f"{path}{child_step}", why))

    return check


def _written_instead(name: str, value: Mapping[str, Any], meant: Meant | None) -> str:
    """What the object has that was probably meant for the missing field; mostly nothing."""
    other = next((key for key in value if meant is not None and meant(key) == name), None)
    return "" if other is None else f"{other} is not known here, {name} is what counts"


def _check_map(node: MapOf) -> Check:
    child = compile_check(node.values)
    maximum = node.max_properties

    def check(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
        path = parent + step
        if type(value) is not dict:
            errors.append(wrong_type(path, value, "object"))
            return
        if maximum is not None and len(value) > maximum:
            errors.append(fields.too_many(path, len(value), maximum))
            return
        for key, item in value.items():
            child(item, path, f"[{key}]", errors)
            if len(errors) >= MAX_FAULTS:
                return

    return check


def _check_list(node: ListOf) -> Check:
    child = compile_check(node.items)
    identify = _identifier(node)
    minimum, maximum = node.min_items, node.max_items

    def check(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
        path = parent + step
        if type(value) is not list:
            errors.append(wrong_type(path, value, "array"))
            return
        if maximum is not None and len(value) > maximum:
            errors.append(fields.too_many(path, len(value), maximum))
            return
        if minimum is not None and len(value) < minimum:
            detail = f"{path} in body should have at least {minimum} items"
            errors.append(fields.invalid(path, len(value), detail))
        for index, item in enumerate(value):
            child(item, path, f"[{index}]", errors)
            if len(errors) >= MAX_FAULTS:
                return
        if identify is not None and len(value) > 1:
            _check_unique(value, identify, path, errors)

    return check


_Identify = Callable[[Any], Any]


def _identifier(node: ListOf) -> _Identify | None:
    """From an item to what it must not share with another: a scalar, or its keys as an object."""
    match node.semantics:
        case ListType.SET:
            return lambda item: item
        case ListType.MAP:
            keys = node.keys
            return lambda item: (
                {key: item[key] for key in keys if key in item} if type(item) is dict else None
            )
        case _:
            return None


def _check_unique(
    items: list[Any], identify: _Identify, path: str, errors: list[FieldError]
) -> None:
    """Items of a wrong type are passed over: they have been reported as such."""
    seen: set[tuple[object, ...]] = set()
    for index, item in enumerate(items):
        identity = identify(item)
        parts = tuple(identity.items()) if type(identity) is dict else (identity,)
        try:
            mark = (type(identity), *parts)
            if mark in seen:
                errors.append(fields.duplicate(f"{path}[{index}]", identity))
                if len(errors) >= MAX_FAULTS:
                    return
            elif identity is not None and identity != {}:
                seen.add(mark)
        except TypeError:  # unhashable: a container where a scalar belongs
            continue
