"""Objects as merging and ownership see them: declared fields, and what is preserved undeclared."""

from collections.abc import Mapping
from typing import Any, Final

from apis.meta import codec
from apis.meta.fieldset import LEAF, FieldSet, as_member, is_member
from apis.meta.gotext import go_value
from apis.meta.structure import MAX_FAULTS
from apis.meta.typed import Faults, Leaf, Type, same

_NO_ITEMS: Final[dict[str, Any]] = {}


class Fields:
    """An object: declared fields, and others of the type `others` (None: there are none).

    Fields named in `silent` take part in merging alone.
    """

    __slots__ = ("_declared", "_fallback", "_others", "_owners", "_quick", "silent")

    def __init__(
        self,
        declared: Mapping[str, Type],
        others: Type | None = None,
        *,
        silent: frozenset[str] = frozenset(),
    ) -> None:
        self.silent = silent
        self._declared = dict(declared)
        self._others = others
        self._owners: dict[str, Type | None] = {
            name: None if name in silent else child for name, child in declared.items()
        }
        self._owners.update(dict.fromkeys(silent))
        # For `owned`, which every create runs over the whole object: leaves without a call.
        self._quick: dict[str, Any] = {name: _quick(owner) for name, owner in self._owners.items()}
        self._fallback = _quick(others)

    def owned(self, value: Any) -> FieldSet:
        if not value or type(value) is not dict:
            return LEAF
        fields: FieldSet = {".": LEAF}
        owner_of, fallback = self._quick.get, self._fallback
        for name in sorted(value):
            owner = owner_of(name, fallback)
            if owner is not None:
                fields["f:" + name] = LEAF if owner is LEAF else owner.owned(value[name])
        return fields if len(fields) > 1 else LEAF

    def stated(self, value: Any) -> FieldSet | None:
        if type(value) is not dict:
            return None
        fields: FieldSet = {}
        for name in sorted(value):
            owner = self._owners.get(name, self._others)
            if owner is None:
                continue
            item = value[name]
            claimed = owner.stated(item)
            if item is None or item == {}:
                claimed = LEAF
            elif name not in self._declared:
                claimed = as_member(claimed)
            if claimed is not None:
                fields[f"f:{name}"] = claimed
        return fields or None

    def compare(self, old: Any, new: Any, at: str, *, changed: FieldSet, removed: FieldSet) -> None:
        if not old and not new:
            if not same(old, new):  # {} and null
                changed[at] = LEAF
            return
        changes: FieldSet = {}
        removals: FieldSet = {}
        self.compare_fields(
            old if type(old) is dict else _NO_ITEMS,
            new if type(new) is dict else _NO_ITEMS,
            changed=changes,
            removed=removals,
        )
        if changes:
            changed[at] = changes
        if removals:
            removed[at] = removals

    def compare_fields(
        self,
        old: Mapping[str, Any],
        new: Mapping[str, Any],
        *,
        changed: FieldSet,
        removed: FieldSet,
    ) -> None:
        owners, others = self._owners, self._others
        for name, after in new.items():
            owner = owners.get(name, others)
            if owner is None:
                continue
            if name not in old:
                changed[f"f:{name}"] = owner.owned(after)
                continue
            before = old[name]
            # Most fields are texts that did not change.
            if before is after or (type(before) is str and before == after):
                continue
            owner.compare(before, after, f"f:{name}", changed=changed, removed=removed)
        for name, before in old.items():
            if name not in new:
                owner = owners.get(name, others)
                if owner is not None:
                    removed[f"f:{name}"] = owner.owned(before)

    def merge(self, live: Any, config: Any) -> Any:
        before = live if type(live) is dict else _NO_ITEMS
        over = config if type(config) is dict else _NO_ITEMS
        if not before and not over:
            return config
        merged = dict(before)
        for name, value in over.items():
            child = self._declared.get(name, self._others)
            if child is not None and name in before:
                value = child.merge(before[name], value)
            merged[name] = value
        return merged

    def without(self, value: Any, fields: FieldSet) -> Any:
        if type(value) is not dict:
            return value
        kept = {}
        for name, item in value.items():
            node = fields.get(f"f:{name}")
            owner = self._owners.get(name, self._others)
            if node is None or owner is None:
                kept[name] = item
            elif not is_member(node) or _holds_silent(owner, item):
                kept[name] = owner.without(item, node)
        return kept

    def named(self, fields: FieldSet) -> FieldSet:
        result = {}
        for element, node in fields.items():
            name = element[2:]
            if node and element.startswith("f:"):
                child = self._declared.get(name, self._others)
                if child is not None:
                    node = child.named(node)
                if name in self._declared:
                    node = as_member(node)
            result[element] = node
        return result

    def check(self, value: Any, path: str, faults: Faults) -> Any:
        if value is None:
            return value
        if type(value) is not dict:
            faults.append(f"{path}: expected map, got &{{{go_value(value)}}}")
            return value
        for name in sorted(value):
            child = self._declared.get(name, self._others)
            if len(faults) >= MAX_FAULTS:
                break
            if child is None:
                # One of them is told, as Go's walk ends there.
                faults.append(f"{path}.{name}: field not declared in schema")
                break
            value[name] = child.check(value[name], f"{path}.{name}", faults)
        return value


def _holds_silent(owner: Type, value: Any) -> bool:
    """Whether a value cannot go as a whole, because something in it is nobody's to remove."""
    return isinstance(owner, Fields) and type(value) is dict and not owner.silent.isdisjoint(value)


def _quick(owner: Type | None) -> Any:
    """LEAF for a leaf, which says nothing about the value; else the owner itself."""
    return LEAF if isinstance(owner, Leaf) else owner


class Undeclared(Fields):
    """What is preserved as it came: of the types that its JSON has."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__({}, self)

    def owned(self, value: Any) -> FieldSet:
        if not value or type(value) is not dict:
            return LEAF
        fields: FieldSet = {".": LEAF}
        for name in sorted(value):
            item = value[name]
            fields["f:" + name] = self.owned(item) if type(item) is dict else LEAF
        return fields

    def stated(self, value: Any) -> FieldSet | None:
        if value is None or type(value) is dict:
            return super().stated(value)
        return LEAF

    def compare(self, old: Any, new: Any, at: str, *, changed: FieldSet, removed: FieldSet) -> None:
        objects = (type(old) is dict) + (type(new) is dict)
        if objects == 2 or (objects and (old is None or new is None)):
            super().compare(old, new, at, changed=changed, removed=removed)
        elif objects:
            changed[at] = self.owned(new)
            gone = {key: node for key, node in self.owned(old).items() if key != "."}
            if gone:
                removed[at] = gone
        elif not same(old, new):
            changed[at] = LEAF

    def merge(self, live: Any, config: Any) -> Any:
        if type(live) is dict and (config is None or type(config) is dict):
            return super().merge(live, config)
        return config

    def check(self, value: Any, _path: str, _faults: Faults) -> Any:
        return value


def compare_objects(
    kind: Fields, old: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[FieldSet, FieldSet]:
    """What changed (or is new) and what is gone, each level in any order.

    Most writes leave most of an object alone: a part that is equal to the byte is not looked at.
    """
    alike = {
        name: old[name]
        for name, part in new.items()
        if name != "metadata"
        and type(part) is dict
        and name in old
        and codec.encode(part) == codec.encode(old[name])
    }
    changed: FieldSet = {}
    removed: FieldSet = {}
    kind.compare_fields(old, {**new, **alike}, changed=changed, removed=removed)
    return changed, removed


UNDECLARED: Final = Undeclared()
