"""How strategic merge patch merges lists, and in which order the merged items stand."""

from collections.abc import Callable, Sequence
from typing import Any

from apis.meta import errors
from apis.meta.gotext import go_type, go_value
from apis.meta.structure import ListOf, ListType, Node

Items = list[Any]
Merge = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]

SCALARS = ""
"""The merge key of a list of scalars: each is its own."""

DIRECTIVE = "$patch"


def merge_key(node: Node | None) -> str | None:
    """By what a list's items are told apart; None for a list that is replaced."""
    if not isinstance(node, ListOf):
        return None
    match node.semantics:
        case ListType.MAP:
            return node.keys[0]
        case ListType.SET:
            return SCALARS
        case _:
            return None


def without_values(items: Items, values: Items) -> Items:
    gone = {_mark(value) for value in values}
    return [item for item in items if _mark(item) not in gone]


def merged_items(current: Items, changes: Items, *, key: str, merge: Merge) -> Items:
    """Both lists by `key`: the changes' order among what they name, the current one elsewhere."""
    if not current and not changes:
        return current
    _check_alike([*current, *changes])
    if key == SCALARS:
        if isinstance([*current, *changes][0], dict):
            raise errors.bad_request("cannot merge lists without merge key")
        merged = _unique([*current, *changes])
        return _normalised(merged, changes, current, key)
    if not isinstance([*current, *changes][0], dict):
        raise unexpected({}, [*current, *changes][0])
    current, changes = _directives(current, changes, key)
    merged = list(current)
    places = _places(current, key)
    for change in changes:
        mark = _identity(change, key, required=True)
        at = places.get(mark)
        if at is None:
            places[mark] = len(merged)
            merged.append(merge({}, change))
        else:
            merged[at] = merge(merged[at], change)
    return _normalised(merged, changes, current, key)


def arranged(
    current: Items | None, changes: Items | None, order: Items, *, key: str | None, merge: Merge
) -> Items | None:
    """The merged list in a given order: None where neither list is there.

    Items that `order` does not name keep their places among the others as they stand now.
    """
    by = key or SCALARS
    _check_order(changes or [], order, by)
    if current is None and changes is None:
        return None
    if changes is None:
        merged = list(current or [])
    elif current is None:
        merged = [item for item in changes if not is_directive(item)]
    elif key is None:
        merged = list(changes)
    else:
        merged = merged_items(current, changes, key=key, merge=merge)
    return _normalised(merged, order, current or [], by)


def _directives(current: Items, changes: Items, key: str) -> tuple[Items, Items]:
    """Carry out the `$patch` items of `changes`; what remains of both."""
    gone = set()
    plain = []
    replace = False
    for change in changes:
        if not is_directive(change):
            plain.append(change)
            continue
        match change[DIRECTIVE]:
            case "delete":
                gone.add(_identity(change, key, required=True))
            case "replace":
                replace = True
            case "merge":
                raise errors.bad_request("merging lists cannot yet be specified in the patch")
            case other:
                raise errors.bad_request(
                    f"unknown patch type: {go_value(other)} in map: {go_value(change)}"
                )
    if replace:
        return plain, []
    return [item for item in current if _identity(item, key) not in gone], plain


def _check_order(changes: Items, order: Items, key: str) -> None:
    """The changes must come in the order that is asked for, and be part of it."""
    if not changes or not order:
        return
    wanted = [
        item
        for item in changes
        if not (is_directive(item) and item[DIRECTIVE] == "delete") and not is_directive(item)
    ]
    marks = [_identity(item, key, required=True) for item in wanted]
    at = 0
    for item in order:
        if at < len(marks) and _identity(item, key, required=True) == marks[at]:
            at += 1
    if at < len(marks):
        raise errors.bad_request(
            f"The order in patch list:\n{go_value(changes)}\n doesn't match $setElementOrder list:\n"
            f"{go_value(order)}\n"
        )


def _normalised(merged: Items, order: Items, current: Items, key: str) -> Items:
    """Items that `order` names in its order, the others in the current one, and both woven
    together so that each of the others stands before the first named item that it preceded."""
    places = _places(order, key)
    before = _places(current, key)
    named = [item for item in merged if _identity(item, key) in places]
    others = [item for item in merged if _identity(item, key) not in places]
    named.sort(key=lambda item: places[_identity(item, key)])
    others.sort(key=lambda item: before.get(_identity(item, key), len(before)))
    woven: Items = []
    left = right = 0
    while left < len(others) and right < len(named):
        one, other = _identity(others[left], key), _identity(named[right], key)
        if one in before and other in before and before[one] < before[other]:
            woven.append(others[left])
            left += 1
        else:
            woven.append(named[right])
            right += 1
    return [*woven, *others[left:], *named[right:]]


def _places(items: Items, key: str) -> dict[Any, int]:
    places: dict[Any, int] = {}
    for index, item in enumerate(items):
        places.setdefault(_identity(item, key), index)
    return places


def _unique(items: Sequence[Any]) -> Items:
    return list({_mark(item): item for item in reversed(items)}.values())[::-1]


def _check_alike(items: Items) -> None:
    """Scalars of one type or objects, never lists."""
    if any(isinstance(item, list) for item in items):
        raise errors.unprocessable("lists of lists are not merged")
    kinds = list(dict.fromkeys(go_type(item) for item in items))
    if len(kinds) > 1:
        raise errors.bad_request(f"list element types are not identical: {kinds[0]} and {kinds[1]}")


def _identity(item: Any, key: str, *, required: bool = False) -> Any:
    if key == SCALARS:
        return _mark(item)
    if not isinstance(item, dict):
        if required:
            raise unexpected({}, item)
        return None
    if key not in item:
        if required:
            raise errors.bad_request(
                f"map: {go_value(item)} does not contain declared merge key: {key}"
            )
        return None
    return _mark(item[key])


def _mark(value: Any) -> Any:
    """Something to compare by: `1` and `true` differ; containers are equal to themselves alone."""
    if isinstance(value, dict | list):
        return id(value)
    return type(value), value


def is_directive(item: Any) -> bool:
    return isinstance(item, dict) and DIRECTIVE in item


def unexpected(wanted: Any, found: Any) -> errors.StatusError:
    return errors.bad_request(f"expected a {go_type(wanted)}, but received a {go_type(found)}")
