"""How a kind is declared: frozen nodes, the counterpart of a CRD's structural schema.

A declaration is data and nothing else. `apis.meta.schema` compiles it; whatever else is derived
from a kind (documents, merge keys, ownership) reads the same nodes, so a field is declared once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final


class Absent:
    """The type of `ABSENT`, which tells a missing value from an explicit null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

MAX_FAULTS: Final = 100
"""Most faults that are told of one object. A body of some megabytes can hold a million, and the
answer would be a hundred times as large as the question."""


class ListType(StrEnum):
    """How a list is merged and compared: `x-kubernetes-list-type`."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Format(StrEnum):
    """What a text must be, beyond a pattern."""

    DATE_TIME = "date-time"
    DNS_LABEL = "dns-label"
    DNS_SUBDOMAIN = "dns-subdomain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every field may say. `default` is JSON, filled in where the field is absent or null;
    a null without a default is dropped from objects. `immutable` compares the whole value; it is
    refused within lists and maps, whose items have no identity across an update."""

    doc: str = ""
    default: Any = ABSENT
    immutable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct(Node):
    """An object with known fields. `preserve_unknown` keeps the others as they came.

    `aliases`: of the known fields those that matter so much that an unknown one which was probably
    meant for them is told, each with other names that people have for it; see `nearmisses`.
    """

    fields: Mapping[str, Node] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    preserve_unknown: bool = False
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if undeclared := set(self.required) - set(self.fields):
            raise ValueError(f"required, but not declared: {sorted(undeclared)}")
        if self.aliases and not self.preserve_unknown:
            raise ValueError("aliases where every unknown field is told anyway")
        if undeclared := set(self.aliases) - set(self.fields):
            raise ValueError(f"aliases of what is not declared: {sorted(undeclared)}")
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOf(Node):
    """An object with arbitrary keys."""

    values: Node
    max_properties: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf(Node):
    """A list. A `MAP` list's items are structs told apart by their `keys`, a `SET`'s are scalars."""

    items: Node
    semantics: ListType = ListType.ATOMIC
    keys: tuple[str, ...] = ()
    min_items: int | None = None
    max_items: int | None = None

    def __post_init__(self) -> None:
        if (self.semantics is ListType.MAP) != bool(self.keys):
            raise ValueError("exactly the lists of type map have keys")
        if self.semantics is not ListType.MAP:
            return
        items = self.items
        if not isinstance(items, Struct) or not set(self.keys) <= set(items.fields):
            raise ValueError(f"items without the keys {self.keys}")
        if any(k not in items.required and items.fields[k].default is ABSENT for k in self.keys):
            raise ValueError("a key of a list must be required or have a default")


@dataclass(frozen=True, slots=True, kw_only=True)
class String(Node):
    """Lengths are in characters. `pattern` is searched for: anchor it."""

    enum: tuple[str, ...] = ()
    pattern: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    format: Format | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None:
            re.compile(self.pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(Node):
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Node):
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(Node):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityText(Node):
    """A resource quantity: text, or a JSON number that becomes text; stored in canonical form.

    `minimum` and `maximum` are quantities. `instead_of_null`: what to write where a client wrote
    null, which is refused in lists and maps.
    """

    minimum: str | None = None
    maximum: str | None = None
    instead_of_null: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntOrString(Node):
    """An integer, or a text of the given pattern (`25%`)."""

    minimum: int | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything(Node):
    """Any JSON, kept as it came."""
