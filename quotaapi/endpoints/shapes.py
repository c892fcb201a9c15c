"""What clients ask an object or a list to be turned into: Table, PartialObjectMetadata(List), or itself."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from aiohttp import web

from apis.meta import codec, errors, table
from apis.meta.resource import Resource
from apis.meta.table import IncludeObject
from apis.meta.transaction import Header, Object
from quotaapi.endpoints import query, respond
from quotaapi.endpoints.compression import LEAST_BYTES
from quotaapi.endpoints.encoding import (
    LongObject,
    PlainList,
    json_parts,
    pretty_parts,
    yaml_parts,
)
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.longanswer import as_pieces
from quotaapi.endpoints.negotiation import JSON, YAML, Representation, Shape
from storage.interface import Page

_LARGE_YAML_BYTES: Final = 16 * 1024
_LARGE_JSON_BYTES: Final = 256 * 1024
"""Objects from which on an answer is made in a thread: ten milliseconds."""


class Stored(Protocol):
    """A Record, or what a write left behind."""

    @property
    def body(self) -> bytes: ...

    @property
    def header(self) -> Header: ...

    def json(self) -> bytes: ...


def include_object(text: str) -> IncludeObject:
    """The Table parameter of that name, from a query. Raises 400."""
    chosen = query.first(query.parse(text), "includeObject") if "includeObject" in text else ""
    if not chosen:
        return IncludeObject.METADATA
    try:
        return IncludeObject(chosen)
    except ValueError:
        raise errors.bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{chosen}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        ) from None


def check_shape(representation: Representation, *, is_list: bool) -> None:
    """Raises 406 for a list that is asked for as one object, and the other way round."""
    if representation.shape is Shape.METADATA and is_list:
        raise errors.StatusError(406, "NotAcceptable", _REFUSED_LIST)
    if representation.shape is Shape.METADATA_LIST and not is_list:
        raise errors.StatusError(406, "NotAcceptable", _REFUSED_OBJECT)


def check_answer(
    exchange: Exchange, representation: Representation, *, is_list: bool = False
) -> None:
    """Before a write: raises what its answer would raise, 406 or 400, while nothing is stored yet."""
    if representation.shape is Shape.OBJECT:
        return
    check_shape(representation, is_list=is_list)
    if representation.shape is Shape.TABLE:
        include_object(exchange.info.query)


_REFUSED_LIST: Final = (
    "you requested PartialObjectMetadata, but the requested object is a list "
    "(*unstructured.UnstructuredList)"
)
_REFUSED_OBJECT: Final = (
    "you requested PartialObjectMetadataList, but the requested object is not a list "
    "(*unstructured.Unstructured)"
)


def partial(obj: Object, version: str) -> Object:
    return _versioned(table.partial_metadata(obj), version)


def _versioned(shaped: Object, version: str) -> Object:
    """In the version of meta.k8s.io that the client asked for."""
    shaped["apiVersion"] = f"meta.k8s.io/{version}"
    return shaped


@dataclass(frozen=True, slots=True)
class Written:
    """What a write left behind, as a Table sees a stored object."""

    stored: Stored

    @property
    def header(self) -> Header:
        return self.stored.header

    def object(self) -> Object:
        obj: Object = codec.decode_json(self.stored.json()).value
        return obj


class Tables:
    """Tables of one request or watch: what it asked for, and when."""

    def __init__(
        self,
        resource: Resource,
        version: str,
        include: IncludeObject,
        clock: Callable[[], datetime],
    ) -> None:
        self._resource = resource
        self._version = version
        self._include = include
        self._clock = clock

    def rows(self, items: Iterable[table.Row]) -> list[Object]:
        now, include = self._clock(), self._include
        rows = [table.table_row(self._resource, item, now=now, include=include) for item in items]
        if self._version != "v1" and include is IncludeObject.METADATA:
            for row in rows:
                _versioned(row["object"], self._version)
        return rows

    def of(
        self, rows: Sequence[Object], metadata: Mapping[str, Any], *, columns: bool = True
    ) -> Object:
        found = table.table(self._resource, (), now=self._clock(), metadata=dict(metadata))
        found["rows"] = list(rows)
        if not columns:
            found["columnDefinitions"] = []
        return _versioned(found, self._version)

    def of_one(self, item: table.Row, *, columns: bool = True) -> Object:
        version = item.object()["metadata"].get("resourceVersion", "")
        return self.of(self.rows((item,)), {"resourceVersion": version}, columns=columns)


def is_stored(exchange: Exchange, representation: Representation) -> bool:
    """Whether the answer is the object's JSON as it is stored."""
    return representation.plain and not respond.wants_pretty(exchange)


async def one(
    exchange: Exchange,
    resource: Resource,
    item: Stored,
    representation: Representation,
    *,
    status: int = 200,
) -> web.Response:
    """The answer that is one object."""
    size = len(item.body)
    if size < (_LARGE_YAML_BYTES if representation.yaml else _LARGE_JSON_BYTES):
        return _one(exchange, resource, item, representation, status=status)
    return await exchange.heavy.run(
        size, _one, exchange, resource, item, representation, status=status
    )


def _one(
    exchange: Exchange,
    resource: Resource,
    item: Stored,
    representation: Representation,
    *,
    status: int,
) -> web.Response:
    if representation.shape is Shape.OBJECT:
        return respond.stored(exchange, item.json(), representation, status=status)
    check_shape(representation, is_list=False)
    written = Written(item)
    if representation.shape is Shape.METADATA:
        shown = partial(written.object(), representation.version)
    else:
        shown = tables(exchange, resource, representation).of_one(written)
    return respond.value(exchange, shown, representation, status=status)


def tables(exchange: Exchange, resource: Resource, representation: Representation) -> Tables:
    """Raises 400 for a bad includeObject."""
    include = include_object(exchange.info.query)
    return Tables(resource, representation.version, include, exchange.clock)


async def page(
    exchange: Exchange, resource: Resource, found: Page, representation: Representation
) -> web.StreamResponse:
    """The answer that is a list."""
    check_shape(representation, is_list=True)
    if is_stored(exchange, representation):
        return await _plain_list(exchange, resource, found)
    shaped, heavy = _shaped(exchange, resource, found, representation), exchange.heavy
    if representation.yaml:
        return await _in_parts(exchange, yaml_parts(shaped, heavy), YAML)
    parts = pretty_parts if respond.wants_pretty(exchange) else json_parts
    return await _in_parts(exchange, parts(shaped, heavy), JSON)


async def _in_parts(
    exchange: Exchange, parts: AsyncIterator[bytes], content_type: str
) -> web.StreamResponse:
    """As a whole where it is short; the parts of a long answer are made as its client reads them."""
    begun: list[bytes] = []
    size = 0
    async for part in parts:
        begun.append(part)
        size += len(part)
        if size >= LEAST_BYTES:
            pieces = as_pieces(_chained(begun, parts))
            return await respond.long(exchange, pieces, content_type=content_type)
    return respond.raw(exchange, b"".join(begun), content_type=content_type)


async def _chained(begun: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    while begun:
        yield begun.pop(0)
    async for part in rest:
        yield part


async def _plain_list(exchange: Exchange, resource: Resource, found: Page) -> web.StreamResponse:
    metadata = codec.encode({"continue": "", **_list_metadata(found)})
    head = b'{"kind":"%b","apiVersion":"%b","metadata":%b,"items":[' % (
        resource.list_kind.encode(),
        resource.api_version.encode(),
        metadata,
    )
    shared: PlainList | None = found.encoded.get(resource.api_version)
    if shared is None:
        shared = found.encoded[resource.api_version] = PlainList(head, found.records, b"]}")
    body = await shared.body()
    if body.length is not None and body.length < LEAST_BYTES:
        return respond.raw(exchange, b"".join([piece.data async for piece in body]))
    return await respond.long(exchange, aiter(body), length=body.length)


def _list_metadata(found: Page) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(found.resource_version)}
    if found.continue_token:
        metadata["continue"] = found.continue_token
    if found.remaining:
        metadata["remainingItemCount"] = found.remaining
    return metadata


def _shaped(
    exchange: Exchange, resource: Resource, found: Page, representation: Representation
) -> LongObject:
    metadata, version, records = _list_metadata(found), representation.version, found.records
    if representation.shape is Shape.TABLE:
        made = tables(exchange, resource, representation)
        return LongObject(made.of((), metadata), "rows", records, made.rows)
    if representation.shape is Shape.METADATA_LIST:
        around: Object = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{version}",
            "metadata": metadata,
            "items": None,  # Go's empty slice, as clients of kube-apiserver get it
        }
        return LongObject(
            around,
            "items",
            records,
            lambda batch: [partial(record.object(), version) for record in batch],
        )
    around = {
        "kind": resource.list_kind,
        "apiVersion": resource.api_version,
        "metadata": {"continue": "", **metadata},
        "items": [],
    }
    return LongObject(around, "items", records, lambda batch: [each.object() for each in batch])
