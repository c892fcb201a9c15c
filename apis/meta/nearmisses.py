"""Unknown fields that are kept and were probably meant for a declared one: `gpus` for `gpu`.

A struct that preserves unknown fields cannot refuse them as such. Where a field is what somebody
pays by, a slip of the pen must not pass in silence: a struct names such fields, with the other
names that people know them by (`Struct.aliases`), and what comes close to one of them is found here.

Close is: an alias; the same letters in another case, with other dashes or underscores, in the plural
or singular; one letter too many or too few, or two that changed places; in names of LONG letters
and more one letter for another as well, and in names of twice that two such slips after the first letter.
Short names have too many neighbours that mean something else (`tpu`).
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from apis.meta import codec
from apis.meta.structure import MAX_FAULTS, ListOf, MapOf, Node, Struct
from apis.meta.transaction import Object
from apis.meta.values import valueclass

LONG: Final = 5
_LONGEST: Final = 64
"""Longer names are no slips; this bounds the work on absurd ones."""

_REMEMBERED: Final = 1024
"""Unknown names per struct whose meaning is kept: manifests have a dozen."""

Meant = Callable[[str], str | None]
"""From an unknown name to the declared field that was probably meant."""


@valueclass
class NearMiss:
    """`path` leads to the field, `meant` is the name of the declared one, `holder` has the field."""

    path: str
    name: str
    meant: str
    holder: Object

    def told(self) -> str:
        return f'unknown field "{self.path}" (it counts for nothing; did you mean "{self.meant}"?)'

    def identity(self) -> tuple[str, object, bytes]:
        """What stays the same where other items of the lists around it come and go."""
        place = re.sub(r"\[\d+\]", "", self.path)
        named = self.holder.get("name")
        return place, named if type(named) is str else None, codec.encode(self.holder[self.name])


Finder = Callable[[Any, str, list[NearMiss]], None]
"""(value, its path, where to add)."""


def meaning(aliases: Mapping[str, tuple[str, ...]]) -> Meant:
    """For the fields of one struct. The closest wins, then the first that is declared."""
    spelt = {_letters(name): name for name in aliases}
    known = {_letters(alias): name for name, others in aliases.items() for alias in others} | spelt

    @lru_cache(maxsize=_REMEMBERED)
    def meant(name: str) -> str | None:
        if len(name) > _LONGEST:
            return None
        letters = _letters(name)
        for form in (letters, f"{letters}s", letters.removesuffix("s")):
            if form in known:
                return known[form]
        for slips in (1, 2):
            for word, field in spelt.items():
                allowed = slips == 1 or (len(word) >= 2 * LONG and letters[:1] == word[0])
                if allowed and _within(letters, word, slips, exchange=len(word) >= LONG):
                    return field
        return None

    return meant


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _within(a: str, b: str, slips: int, *, exchange: bool) -> bool:
    """Whether at most `slips` single slips turn one into the other."""
    if abs(len(a) - len(b)) > slips or len(set(a) - set(b)) > slips:
        return False
    at = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        at += 1
    a, b = a[at:], b[at:]
    if not slips or not (a or b):
        return a == b
    rest = slips - 1
    return (
        _within(a[1:], b, rest, exchange=exchange)
        or _within(a, b[1:], rest, exchange=exchange)
        or (exchange and _within(a[1:], b[1:], rest, exchange=exchange))
        or (a[:2] == b[1::-1] and len(a) > 1 and _within(a[2:], b[2:], rest, exchange=exchange))
    )


def compile_finder(node: Node, *, root: bool = False) -> Finder | None:
    """None where nothing beneath `node` can be a near miss."""
    match node:
        case Struct():
            return _find_in_struct(node, root=root)
        case ListOf():
            return _find_in_items(compile_finder(node.items))
        case MapOf():
            if compile_finder(node.values) is not None:
                raise ValueError("aliases within a map have no reader yet")
            return None
        case _:
            return None


def _find_in_struct(node: Struct, *, root: bool) -> Finder | None:
    known, meant = frozenset(node.fields), meaning(node.aliases) if node.aliases else None
    dot = "" if root else "."
    compiled = ((name, compile_finder(child)) for name, child in node.fields.items())
    children = tuple((name, f"{dot}{name}", child) for name, child in compiled if child is not None)
    if meant is None and not children:
        return None

    def find(value: Any, path: str, found: list[NearMiss]) -> None:
        if type(value) is not dict:
            return
        if meant is not None and not value.keys() <= known:
            for name in value.keys() - known:
                field = meant(name)
                if field is not None and len(found) < MAX_FAULTS:
                    found.append(NearMiss(f"{path}{dot}{name}", name, field, value))
        for name, step, child in children:
            if name in value:
                child(value[name], path + step, found)

    return find


def _find_in_items(child: Finder | None) -> Finder | None:
    if child is None:
        return None

    def find(value: Any, path: str, found: list[NearMiss]) -> None:
        if type(value) is list:
            for index, item in enumerate(value):
                child(item, f"{path}[{index}]", found)

    return find
