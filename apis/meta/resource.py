"""What the server knows of a kind: one `Resource` per kind, declared beside its schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apis.meta.fields import FieldError
from apis.meta.schema import Schema
from apis.meta.transaction import Header, Object


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`. `cell` sees the object and what is stored beside it.

    `priority` 0 is always shown, 1 with `-o wide`. `type` is OpenAPI's (string, integer, date);
    a date's cell is an RFC 3339 text, shown as an age.
    """

    name: str
    cell: Callable[[Object, Header], object]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


def _no_rules(_new: Object, _old: Object | None) -> list[FieldError]:
    return []


def _no_warnings(_new: Object, _old: Object | None) -> list[str]:
    return []


def _no_defaults(_obj: Object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind and how it is served.

    `defaults` and `rules` are what a schema cannot say: defaults that depend on other fields,
    and semantic validation of a new object (`old` is None) or of an update.
    `singular`: as discovery publishes it; empty: none, since another group is known by that word.
    `warnings`: what deserves a word in an object that is valid, or in an update (a strategy's
    WarningsOnCreate and WarningsOnUpdate). Pure; the order is that of the answer.
    `read_only`: users may get, list and watch it, and nobody but the server writes it.
    `server_status`: top-level keys of `status` that only the server writes.
    `selectable_fields`: field selector -> reader, besides metadata.name and, in a namespace,
    metadata.namespace.
    `max_content_bytes`: of an object as JSON without its metadata, which has bounds of its own; 0:
    what the store takes.
    `indexes`: index name -> the values under which an object is found.
    """

    kind: str
    plural: str
    singular: str
    schema: Schema
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    has_status: bool = False
    max_content_bytes: int = 0
    read_only: bool = False
    server_status: frozenset[str] = frozenset()
    defaults: Callable[[Object], None] = _no_defaults
    rules: Callable[[Object, Object | None], list[FieldError]] = _no_rules
    warnings: Callable[[Object, Object | None], list[str]] = _no_warnings
    selectable_fields: Mapping[str, Callable[[Object], str]] = field(default_factory=dict)
    indexes: Mapping[str, Callable[[Object], tuple[str, ...]]] = field(default_factory=dict)
    group: str = "garden.sapcloud.io"
    version: str = "v1beta1"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def group_resource(self) -> str:
        """`quotas.garden.sapcloud.io`, as messages name it."""
        return f"{self.plural}.{self.group}"

    @property
    def verbs(self) -> tuple[str, ...]:
        """As discovery lists them."""
        if self.read_only:
            return ("get", "list", "watch")
        return (
            "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
        )  # fmt: skip
