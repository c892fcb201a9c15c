"""From declarations to types: what the schema of a kind means for merging and ownership."""

from typing import Any, Final

from apis.meta.objectmeta import OBJECT_META, SYSTEM_FIELDS
from apis.meta.resource import Resource
from apis.meta.shaping import canonical_quantity, whole_number
from apis.meta.structure import (
    ABSENT,
    Anything,
    Boolean,
    Integer,
    ListOf,
    ListType,
    MapOf,
    Node,
    Number,
    QuantityText,
    String,
    Struct,
)
from apis.meta.typed import (
    Atomic,
    Leaf,
    Type,
    boolean_fault,
    number_fault,
    scalar_fault,
    text_fault,
)
from apis.meta.typed_lists import AtomicList, MapList, SetOf
from apis.meta.typed_objects import UNDECLARED, Fields

STATUS: Final = "status"


def object_type(resource: Resource, subresource: str = "") -> Fields:
    """The type of a whole object, as a write of it, or of its status, sees it.

    What the write cannot change is silent: the status on the way of the whole object, all but the
    status on its own way, what of the status the server alone writes, and what of the metadata.
    """
    declared = {
        name: compile_type(node) for name, node in resource.schema.declaration.fields.items()
    }
    status = resource.schema.declaration.fields.get(STATUS)
    if isinstance(status, Struct) and resource.server_status:
        declared[STATUS] = _fields(status, silent=resource.server_status)
    declared |= {"apiVersion": _TEXT, "kind": _TEXT, "metadata": METADATA}
    silent = {"apiVersion", "kind"}
    if subresource == STATUS:
        silent = declared.keys() - {STATUS}
    elif resource.has_status:
        silent.add(STATUS)
    return Fields(declared, silent=frozenset(silent))


def compile_type(node: Node) -> Type:
    match node:
        case Struct():
            return _fields(node)
        case MapOf():
            return Fields({}, _Element.of(node.values))
        case ListOf():
            return _list(node)
        case String():
            return _TEXT
        case Integer():
            return _INTEGER
        case Number():
            return _NUMBER
        case Boolean():
            return _BOOLEAN
        case QuantityText():
            return _QUANTITY
        case Anything():
            return UNDECLARED
        case _:
            return _SCALAR


def _fields(node: Struct, silent: frozenset[str] = frozenset()) -> Fields:
    declared = {name: compile_type(child) for name, child in node.fields.items()}
    others = UNDECLARED if node.preserve_unknown else None
    return Fields(declared, others, silent=silent)


def _list(node: ListOf) -> Type:
    item = _Element.of(node.items)
    match node.semantics:
        case ListType.SET:
            return SetOf(item)
        case ListType.MAP:
            return MapList(item, node.keys, _key_defaults(node))
        case _:
            return AtomicList(item)


def _key_defaults(node: ListOf) -> dict[str, Any]:
    items = node.items
    if not isinstance(items, Struct):
        raise TypeError("the items of a list of type map are structs")
    defaults = ((key, items.fields[key].default) for key in node.keys)
    return {key: default for key, default in defaults if default is not ABSENT}


class _Element(Leaf):
    """A scalar in a list or a map, where a null takes the default at once."""

    __slots__ = ("_default", "_scalar")

    def __init__(self, scalar: Leaf, default: Any) -> None:
        super().__init__(lambda _value: None)
        self._scalar = scalar
        self._default = default

    @classmethod
    def of(cls, node: Node) -> Type:
        compiled = compile_type(node)
        if isinstance(compiled, Leaf) and type(node.default) in (str, int, float, bool):
            return cls(compiled, node.default)
        return compiled

    def check(self, value: Any, path: str, faults: list[str]) -> Any:
        return self._scalar.check(self._default if value is None else value, path, faults)


def _owner_references() -> Type:
    """A reference is owned as a whole."""
    node = OBJECT_META.fields["ownerReferences"]
    if not isinstance(node, ListOf):
        raise TypeError("ownerReferences are a list")
    return MapList(Atomic(compile_type(node.items)), node.keys, {})


_TEXT: Final = Leaf(text_fault)
_INTEGER: Final = Leaf(number_fault, whole_number)
_NUMBER: Final = Leaf(number_fault)
_BOOLEAN: Final = Leaf(boolean_fault)
_SCALAR: Final = Leaf(scalar_fault)
_QUANTITY: Final = Leaf(scalar_fault, canonical_quantity)

METADATA: Final = Fields(
    {
        **{name: compile_type(node) for name, node in OBJECT_META.fields.items()},
        "ownerReferences": _owner_references(),
    },
    silent=SYSTEM_FIELDS,
)
