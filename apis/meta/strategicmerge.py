"""Strategic merge patch: a merge patch that knows, from the schema, how lists are merged.

A list of type map is merged item by item, by the first of its keys; a set is joined; an atomic
list is replaced; objects are merged and nulls delete, as in a merge patch. Directives:

    $patch: replace | delete             on an object, or on an item of a list
    $setElementOrder/<list>: [...]       the order that the merged list is to have
    $deleteFromPrimitiveList/<list>: []  values to take out of a set
    $retainKeys: [...]                   the only fields that the object keeps

Errors are kube-apiserver's for built-in kinds; where it answers 500 for a patch that makes no
sense, this is a 400 with the same words (docs/decisions/0013).
"""

from typing import Any, Final

from apis.meta import codec, errors
from apis.meta.gotext import go_value
from apis.meta.objectmeta import OBJECT_META
from apis.meta.patch import Patch
from apis.meta.resource import Resource
from apis.meta.strategiclists import (
    DIRECTIVE,
    arranged,
    is_directive,
    merge_key,
    merged_items,
    unexpected,
    without_values,
)
from apis.meta.structure import ListOf, MapOf, Node, String, Struct
from apis.meta.transaction import Object

RETAIN: Final = "$retainKeys"
ORDER: Final = "$setElementOrder"
DELETE_VALUES: Final = "$deleteFromPrimitiveList"

Json = dict[str, Any]


def parse_strategic_merge_patch(data: bytes, resource: Resource) -> Patch:
    """Raises StatusError (400) for what is no JSON object."""
    try:
        decoded = codec.decode_json(data)
    except codec.DecodeError as e:
        raise errors.bad_request(str(e)) from e
    changes = decoded.value
    if changes is None:
        changes = {}
    if not isinstance(changes, dict):
        raise errors.bad_request(
            f"json: cannot unmarshal {codec.json_type(changes)} "
            "into Go value of type map[string]interface {}"
        )
    schema = whole_schema(resource)
    return Patch(
        lambda old: apply_strategic(old, changes, schema), decoded.duplicates, decoded.size
    )


def whole_schema(resource: Resource) -> Struct:
    fields = dict(resource.schema.declaration.fields)
    fields |= {"apiVersion": String(), "kind": String(), "metadata": OBJECT_META}
    return Struct(fields=fields)


def apply_strategic(old: Object, changes: Json, schema: Struct) -> Object:
    """The patched object, which shares nothing with either argument; both are left alone."""
    merged = merge_object(old, changes, schema)
    try:
        copied: Object = codec.copy(merged)
    except codec.DecodeError as error:  # it nests deeper than either part did
        raise errors.unprocessable(f"the patched object cannot be stored: {error}") from None
    return copied


def merge_object(original: Json | None, patch: Json, node: Node | None) -> Json:
    if DIRECTIVE in patch:
        return _directed(patch)
    result = dict(original or {})
    if RETAIN in patch:
        _retain(result, patch)
    placed = _place(result, patch, node)
    for key, value in patch.items():
        if key in placed or key == RETAIN or key.startswith(ORDER):
            continue
        if key.startswith(DELETE_VALUES):
            _delete_values(result, key, value)
        elif value is None:
            result.pop(key, None)
        elif key in result:
            _merge_field(result, key, value, _child(node, key))
        else:
            _set_field(result, key, value)
    return result


def _directed(patch: Json) -> Json:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise errors.bad_request(
                f"unknown patch type: {go_value(other)} in map: {go_value(patch)}"
            )


def _retain(result: Json, patch: Json) -> None:
    kept = patch[RETAIN]
    if not isinstance(kept, list):
        raise _malformed("retainKeys")
    names = {name for name in kept if isinstance(name, str)}
    for key, value in patch.items():
        if value is None or key == RETAIN or key.startswith((ORDER, DELETE_VALUES)):
            continue
        if key not in names:
            raise _malformed("retainKeys")
    for key in [key for key in result if key not in names]:
        del result[key]


def _place(result: Json, patch: Json, node: Node | None) -> set[str]:
    """Merge the lists whose order is given; answers their names."""
    placed = set()
    for directive, order in patch.items():
        if not directive.startswith(ORDER):
            continue
        if not isinstance(order, list):
            raise unexpected([], order)
        key = _listed(directive, ORDER, "setElementOrder list")
        original, changes = result.get(key), patch.get(key)
        for items in (original, changes):
            if items is not None and not isinstance(items, list):
                raise unexpected([], items)
        child = _child(node, key)
        result_items = arranged(
            original, changes, order, key=merge_key(child), merge=_merger(child)
        )
        if result_items is not None:
            result[key] = result_items
            placed.add(key)
    return placed


def _delete_values(result: Json, directive: str, values: Any) -> None:
    key = _listed(directive, DELETE_VALUES, "primitive list")
    if values is None:
        result.pop(key, None)
    elif isinstance(values, list) and isinstance(result.get(key), list):
        result[key] = without_values(result[key], values)


def _merge_field(result: Json, key: str, value: Any, child: Node | None) -> None:
    current = result[key]
    if isinstance(value, dict) and isinstance(current, dict):
        result[key] = merge_object(current, value, child)
    elif isinstance(value, list) and isinstance(current, list):
        result[key] = _merge_lists(current, value, child)
    else:
        _set_field(result, key, value)


def _merge_lists(current: list[Any], changes: list[Any], child: Node | None) -> list[Any]:
    by = merge_key(child)
    if by is None:
        return [_cleaned(item) for item in changes if not is_directive(item)]
    return merged_items(current, changes, key=by, merge=_merger(child))


def _merger(child: Node | None) -> Any:
    items = child.items if isinstance(child, ListOf) else None
    return lambda current, changes: merge_object(current, changes, items)


def _set_field(result: Json, key: str, value: Any) -> None:
    if is_directive(value):
        result.pop(key, None)
    else:
        result[key] = _cleaned(value)


def _cleaned(value: Any) -> Any:
    """What a patch says anew, where there is nothing to merge it into: no nulls, no directives."""
    if isinstance(value, dict):
        return {
            key: _cleaned(item)
            for key, item in value.items()
            if item is not None and not is_directive(item) and not _is_told(key)
        }
    if isinstance(value, list):
        return [_cleaned(item) for item in value if not is_directive(item)]
    return value


def _is_told(key: str) -> bool:
    return key == RETAIN or key.startswith((f"{ORDER}/", f"{DELETE_VALUES}/"))


def _child(node: Node | None, key: str) -> Node | None:
    match node:
        case Struct():
            return node.fields.get(key)
        case MapOf():
            return node.values
        case _:
            return None


def _listed(directive: str, prefix: str, what: str) -> str:
    """The name of the list that a directive is about."""
    start, slash, key = directive.partition("/")
    if not slash or start != prefix:
        raise _malformed(what)
    return key


def _malformed(what: str) -> errors.StatusError:
    return errors.bad_request(f"invalid patch format of {what}")
