"""A kind's schema, compiled once into closures: prune, default, validate, validate_update.

The order on the way in: `prune` (unknown fields go), `default` (nulls and missing values are
settled, quantities become canonical), then, after admission's defaults, `validate` and on an
update `validate_update`. Each pass descends only where the declaration has something to do for
it, so what is preserved as it came costs nothing, and no pass recurses deeper than the
declaration itself, however deep the object is nested.

Explicit nulls follow structural schemas: a null takes the field's default; without one it is
dropped from an object with declared fields, and in a list or map it stays, to be refused as a
value of the wrong type.
"""

from collections.abc import Callable
from typing import Any

from apis.meta import fields
from apis.meta.checks import compile_check
from apis.meta.fields import FieldError
from apis.meta.nearmisses import NearMiss, compile_finder
from apis.meta.shaping import Defaulter, Pruner, default_struct, prune_struct
from apis.meta.structure import ABSENT, ListOf, MapOf, Node, String, Struct
from apis.meta.transaction import Object

_Comparer = Callable[[Any, Any, str, list[FieldError]], None]

_TYPE_META = {"apiVersion": String(), "kind": String()}
_METADATA = frozenset({"metadata"})


class Schema:
    """A kind's compiled schema: closures made at start; nothing is interpreted per request.

    It covers apiVersion, kind, spec, status and the like; `metadata` is `apis.meta.names`' and
    the registry's matter and is passed over. `declaration` is what it was compiled from.
    """

    __slots__ = ("_check", "_compare", "_default", "_find", "_prune", "declaration")

    def __init__(self, declaration: Struct) -> None:
        whole = Struct(
            fields={**_TYPE_META, **declaration.fields},
            required=declaration.required,
            doc=declaration.doc,
        )
        self.declaration = declaration
        self._prune: Pruner = prune_struct(whole, beside=_METADATA, root=True)
        self._find = compile_finder(whole, root=True)
        self._default: Defaulter = default_struct(whole)
        self._check = compile_check(whole, root=True)
        self._compare: _Comparer | None = _compile_compare(whole, root=True)

    def prune(self, obj: Object) -> list[str]:
        """Drop unknown fields in place; answer their paths (`spec.nope`, `spec.limits[0].x`).

        All of them are dropped, and the first MAX_FAULTS are named.
        """
        dropped: list[str] = []
        self._prune(obj, "", dropped)
        return dropped

    def near_misses(self, obj: Any) -> list[NearMiss]:
        """Unknown fields that are kept and were probably meant for one that matters, by path."""
        found: list[NearMiss] = []
        if self._find is not None:
            self._find(obj, "", found)
            found.sort(key=lambda miss: miss.path)
        return found

    def default(self, obj: Object) -> None:
        """Fill in declared defaults in place; canonicalise quantities that are valid."""
        self._default(obj)

    def validate(self, obj: Object) -> list[FieldError]:
        """Every violation of types, required fields, enums, bounds, formats and list semantics."""
        errors: list[FieldError] = []
        self._check(obj, "", "", errors)
        return errors

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Violations of immutability only; both are valid by themselves."""
        errors: list[FieldError] = []
        if self._compare is not None:
            self._compare(new, old, "", errors)
        return errors


def _compile_compare(node: Node, *, root: bool = False) -> _Comparer | None:
    """None where nothing beneath `node` is immutable."""
    if node.immutable:
        return _compare_whole
    match node:
        case Struct():
            return _compare_struct(node, root=root)
        case ListOf(items=element) | MapOf(values=element):
            if _compile_compare(element) is not None:
                raise ValueError("nothing within a list or map can be immutable")
            return None
        case _:
            return None


def _compare_whole(new: Any, old: Any, path: str, errors: list[FieldError]) -> None:
    if new != old:
        shown = None if new is ABSENT else new
        errors.append(fields.invalid(path, shown, "field is immutable"))


def _compare_struct(node: Struct, *, root: bool) -> _Comparer | None:
    dot = "" if root else "."
    compiled = ((name, _compile_compare(child)) for name, child in node.fields.items())
    children = tuple((name, f"{dot}{name}", child) for name, child in compiled if child is not None)
    if not children:
        return None

    def compare(new: Any, old: Any, path: str, errors: list[FieldError]) -> None:
        # An absent struct has absent fields: removing it removes what is immutable in it.
        after = new if type(new) is dict else {}
        before = old if type(old) is dict else {}
        for name, step, child in children:
            child(after.get(name, ABSENT), before.get(name, ABSENT), path + step, errors)

    return compare
