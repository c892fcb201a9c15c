"""From a declaration's nodes to a schema, in the dialect of a document.

Version 3 says everything that is declared. Version 2 must be understood by old kubectls, which
refuse what it does not list: a struct that preserves unknown fields has no properties there, as
kube-apiserver publishes custom resources.
"""

from dataclasses import dataclass
from typing import Any, Final

from apis.meta.structure import (
    ABSENT,
    Anything,
    Boolean,
    Format,
    Integer,
    IntOrString,
    ListOf,
    ListType,
    MapOf,
    Node,
    Number,
    QuantityText,
    String,
    Struct,
)
from apis.meta.transaction import Object

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_FORMATS: Final[dict[Format, Object]] = {
    Format.DATE_TIME: {"format": "date-time"},
    Format.DNS_LABEL: {"pattern": f"^{_LABEL}$", "maxLength": 63},
    Format.DNS_SUBDOMAIN: {"pattern": rf"^{_LABEL}(\.{_LABEL})*$", "maxLength": 253},
}

_IMMUTABLE: Final = [{"rule": "self == oldSelf", "message": "field is immutable"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref(Node):
    """A definition of the document, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a version of OpenAPI says it."""

    version: int
    definitions: str

    @property
    def v2(self) -> bool:
        return self.version == 2

    def ref(self, name: str) -> Object:
        return {"$ref": self.definitions + name}


V2: Final = Dialect(2, "#/definitions/")
V3: Final = Dialect(3, "#/components/schemas/")


def schema_of(node: Node, dialect: Dialect) -> Object:
    """Raises TypeError for a node that this module does not know."""
    said = _common(node)
    match node:
        case Struct():
            return said | _struct(node, dialect)
        case MapOf():
            return said | _map(node, dialect)
        case ListOf():
            return said | _list(node, dialect)
        case Ref(name=name):
            return _referring(said, name, dialect)
        case QuantityText():
            return _referring(said, QUANTITY, dialect)
        case IntOrString():
            return _referring(said, INT_OR_STRING, dialect)
        case Anything():
            return said | {PRESERVE: True}
        case _:
            return said | _scalar(node)


def preserves_unknown(node: Node) -> bool:
    """Whether an object of this declaration may have fields that are not declared."""
    match node:
        case Struct():
            children = node.fields.values()
            return node.preserve_unknown or any(preserves_unknown(child) for child in children)
        case ListOf(items=element) | MapOf(values=element):
            return preserves_unknown(element)
        case _:
            return isinstance(node, Anything)


def _common(node: Node) -> Object:
    """What every field may say."""
    said: Object = {}
    if description := _description(node):
        said["description"] = description
    if node.default is not ABSENT:
        said["default"] = node.default
    if node.immutable:
        said["x-kubernetes-validations"] = _IMMUTABLE
    return said


def _description(node: Node) -> str:
    """Its doc, and in words what a schema of its type cannot say."""
    sentences = [f"{node.doc[:1].upper()}{node.doc[1:]}"] if node.doc else []
    if sentences and not sentences[0].endswith((".", "?", "!")):
        sentences[0] += "."
    if isinstance(node, QuantityText):
        if node.minimum is not None:
            sentences.append(f"At least {node.minimum}.")
        if node.maximum is not None:
            sentences.append(f"At most {node.maximum}.")
    if isinstance(node, IntOrString) and node.minimum is not None:
        sentences.append(f"At least {node.minimum}.")
    if node.immutable:
        sentences.append("Immutable.")
    return " ".join(sentences)


def _referring(said: Object, name: str, dialect: Dialect) -> Object:
    """In version 3 nothing that stands beside a reference counts."""
    ref = dialect.ref(name)
    return said | ref if dialect.v2 or not said else said | {"allOf": [ref]}


def _struct(node: Struct, dialect: Dialect) -> Object:
    if node.preserve_unknown and dialect.v2:
        return {PRESERVE: True}
    said: Object = {"type": "object"}
    if node.fields:
        said["properties"] = {
            name: schema_of(child, dialect) for name, child in node.fields.items()
        }
    # What has a default may be left out.
    required = [name for name in node.required if node.fields[name].default is ABSENT]
    if required:
        said["required"] = required
    if node.preserve_unknown:
        said[PRESERVE] = True
    return said


def _map(node: MapOf, dialect: Dialect) -> Object:
    said: Object = {"type": "object", "additionalProperties": schema_of(node.values, dialect)}
    return said | _given(maxProperties=node.max_properties)


def _list(node: ListOf, dialect: Dialect) -> Object:
    said: Object = {"type": "array", "items": schema_of(node.items, dialect)}
    said |= _given(minItems=node.min_items, maxItems=node.max_items)
    said["x-kubernetes-list-type"] = str(node.semantics)
    if node.keys:
        said["x-kubernetes-list-map-keys"] = list(node.keys)
    return said | _patch_strategy(node)


def _patch_strategy(node: ListOf) -> Object:
    """How a strategic merge patch treats the list; other than atomic ones are merged."""
    if node.semantics is ListType.ATOMIC or len(node.keys) > 1:
        return {}
    said: Object = {"x-kubernetes-patch-strategy": "merge"}
    if node.keys:
        said["x-kubernetes-patch-merge-key"] = node.keys[0]
    return said


def _scalar(node: Node) -> Object:
    match node:
        case String():
            said: Object = {"type": "string"}
            if node.enum:
                said["enum"] = list(node.enum)
            if node.format is not None:
                said |= _FORMATS[node.format]
            return said | _given(
                pattern=node.pattern, minLength=node.min_length, maxLength=node.max_length
            )
        case Integer():
            bounds = _given(minimum=node.minimum, maximum=node.maximum)
            return {"type": "integer", "format": "int64", **bounds}
        case Number():
            bounds = _given(minimum=node.minimum, maximum=node.maximum)
            return {"type": "number", "format": "double", **bounds}
        case Boolean():
            return {"type": "boolean"}
        case _:
            raise TypeError(f"no schema for {type(node).__name__}")


def _given(**values: Any) -> Object:
    return {name: value for name, value in values.items() if value is not None}
