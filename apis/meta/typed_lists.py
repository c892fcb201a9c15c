"""Lists as merging and ownership see them: atomic ones, sets, and maps told apart by keys."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apis.meta import codec
from apis.meta.fieldset import (
    LEAF,
    FieldSet,
    as_member,
    element_text,
    is_member,
    key_element,
    sorted_elements,
    value_element,
)
from apis.meta.gotext import go_quoted, go_value
from apis.meta.structure import MAX_FAULTS
from apis.meta.typed import Faults, Leaf, Type, same


class AtomicList(Leaf):
    """A list that is owned as a whole."""

    __slots__ = ("_item",)

    def __init__(self, item: Type) -> None:
        super().__init__(lambda _value: None)
        self._item = item

    def check(self, value: Any, path: str, faults: Faults) -> Any:
        if type(value) is not list:
            if value is not None:
                faults.append(f"{path}: expected list, got &{{{go_value(value)}}}")
            return value
        for index, item in enumerate(value):
            if len(faults) >= MAX_FAULTS:
                break
            value[index] = self._item.check(item, f"{path}[{index}]", faults)
        return value


class Associative:
    """A list whose items have an identity: the path element that `element` answers.

    An item without one (None), which no stored object has, is owned by nobody.
    """

    __slots__ = ("_item",)

    def __init__(self, item: Type) -> None:
        self._item = item

    def element(self, item: Any) -> str | None:
        raise NotImplementedError

    def element_fault(self, item: Any) -> str:
        """Why an item has no identity."""
        raise NotImplementedError

    def _indexed(self, value: Any) -> dict[str, Any]:
        if type(value) is not list:
            return {}
        indexed = {self.element(item): item for item in value}
        indexed.pop(None, None)
        return indexed  # type: ignore[return-value]  # the one None is gone

    def owned(self, value: Any) -> FieldSet:
        items = self._indexed(value)
        if not items:
            return LEAF
        return {".": LEAF, **{key: self._item.owned(items[key]) for key in sorted_elements(items)}}

    def stated(self, value: Any) -> FieldSet | None:
        items = self._indexed(value)
        fields = {key: as_member(self._item.stated(item)) for key, item in items.items()}
        return {key: fields[key] for key in sorted_elements(fields)} or None

    def compare(self, old: Any, new: Any, at: str, *, changed: FieldSet, removed: FieldSet) -> None:
        if not old and not new:
            if not same(old, new):  # [] and null
                changed[at] = LEAF
            return
        before, after = self._indexed(old), self._indexed(new)
        changes: FieldSet = {}
        for key, item in after.items():
            if key not in before:
                changes[key] = self._item.owned(item)
        removals = {key: self._item.owned(item) for key, item in before.items() if key not in after}
        for key, item in before.items():
            if key in after:
                self._item.compare(item, after[key], key, changed=changes, removed=removals)
        if changes:
            changed[at] = changes
        if removals:
            removed[at] = removals

    def merge(self, live: Any, config: Any) -> Any:
        before, over = self._indexed(live), self._indexed(config)
        if not before and not over:
            return config
        return [
            self._item.merge(before[key], over[key])
            if key in before and key in over
            else (over[key] if key in over else before[key])
            for key in _interleaved(list(before), list(over))
        ]

    def without(self, value: Any, fields: FieldSet) -> Any:
        if type(value) is not list:
            return value
        kept = []
        for item in value:
            element = self.element(item)
            node = None if element is None else fields.get(element)
            if node is None:
                kept.append(item)
            elif not is_member(node):
                kept.append(self._item.without(item, node))
        return kept

    def named(self, fields: FieldSet) -> FieldSet:
        return {
            element: self._item.named(node) if node and element != "." else node
            for element, node in fields.items()
        }

    def check(self, value: Any, path: str, faults: Faults) -> Any:
        if type(value) is not list:
            if value is not None:
                faults.append(f"{path}: expected list, got &{{{go_value(value)}}}")
            return value
        seen = set()
        for index, item in enumerate(value):
            if len(faults) >= MAX_FAULTS:
                break
            element = self.element(item)
            if element is None:
                # Without an identity nothing beneath can be named: the walk ends here.
                faults.append(f"{path}: element {index}: {self.element_fault(item)}")
                break
            shown = element_text(element)
            if element in seen:
                faults.append(f"{path}: duplicate entries for key {shown}")
            seen.add(element)
            value[index] = self._item.check(item, f"{path}{shown}", faults)
        return value


class SetOf(Associative):
    """Scalars, each of which is its own identity."""

    __slots__ = ()

    def element(self, item: Any) -> str | None:
        if item is None or type(item) in (dict, list):
            return None
        return value_element(item)

    def element_fault(self, item: Any) -> str:
        if item is None:
            return "associative list without keys has an element that's an explicit null"
        if type(item) is dict:
            return "associative list without keys has an element that's a map type"
        return "not supported: associative list with lists as elements"


class MapList(Associative):
    """Objects told apart by their keys; `defaults` are those of the keys that have one."""

    __slots__ = ("_defaults", "_keys", "_single")

    def __init__(self, item: Type, keys: Sequence[str], defaults: Mapping[str, Any]) -> None:
        super().__init__(item)
        self._keys = tuple(keys)
        self._defaults = dict(defaults)
        self._single = f'k:{{"{keys[0]}":' if len(keys) == 1 else ""

    def element(self, item: Any) -> str | None:
        if type(item) is not dict:
            return None
        if self._single:
            value = item.get(self._keys[0], self._defaults.get(self._keys[0]))
            if value is None:
                return None
            return f"{self._single}{codec.encode(value).decode()}}}"
        given = {**self._defaults, **item}
        keys = {name: given[name] for name in sorted(self._keys) if name in given}
        return key_element(keys) if keys else None

    def element_fault(self, item: Any) -> str:
        if item is None:
            return "associative list with keys may not have a null element"
        if type(item) is not dict:
            return "associative list with keys may not have non-map elements"
        return (
            "associative list with keys has an element that omits all key fields "
            f"{go_quoted(self._keys)} (and doesn't have default values for any key fields)"
        )


def _interleaved(live: Sequence[str], config: Sequence[str]) -> Iterator[str]:
    """The order of a merged list: the configuration's own order holds among its items, and what
    only the live list has stays behind the item that it followed, as far as the two agree.

    1. Where both lists are at the same item, it is next.
    2. A live item that the configuration has too, but not as its next shared one, waits.
    3. A live item of its own is next; after those comes the configuration's next item.
    """
    on_both_sides, configured = set(live), set(config)
    shared = deque(key for key in config if key in on_both_sides)
    done: set[str] = set()
    left = right = 0
    while left < len(live) or right < len(config):
        if left < len(live) and right < len(config):
            key = live[left]
            if key == config[right]:
                done.add(key)
                yield key
                shared.popleft()
                left, right = left + 1, right + 1
                continue
            if key in configured and shared and shared[0] != key:
                left += 1
                continue
        if left < len(live):
            key = live[left]
            if key not in configured:
                yield key
                left += 1
                continue
            if key in done:
                left += 1
        if right < len(config):
            key = config[right]
            done.add(key)
            yield key
            right += 1
            if shared and shared[0] == key:
                shared.popleft()
