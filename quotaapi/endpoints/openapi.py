"""/openapi/v2 and /openapi/v3. The documents follow from the kinds alone, so they are made once.

Clients of version 3 read an index first, whose addresses carry the hash of what they lead to: such
an answer never changes and may be kept for a year.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from typing import Final
from urllib.parse import quote

from aiohttp import web

from apis.meta import codec, errors
from apis.meta.openapi import documents, gnostic
from apis.meta.openapi.documents import Described
from apis.meta.openapi.operations import Subresource
from apis.meta.resource import Resource
from apis.meta.structure import MapOf, QuantityText, Struct
from quotaapi import __version__
from quotaapi.endpoints import cached, query, respond
from quotaapi.endpoints.cached import Document
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.negotiation import JSON, clauses
from quotaapi.endpoints.patch import MEDIA_TYPES
from quotaapi.endpoints.subresources import SUBRESOURCES

_ROOT_V2: Final = "/openapi/v2"
_ROOT_V3: Final = "/openapi/v3"
_PROTOBUF_V2: Final = (
    gnostic.MEDIA_TYPE,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
"""The media type, and the older one, which kubectl asks for and Go cannot parse."""

_ANSWERS: Final[Mapping[str, Struct]] = {
    "ResourceQuota": Struct(
        doc="What may be used within the cluster, as a ResourceQuota to be applied there.",
        fields={
            "spec": Struct(
                doc="The limits.",
                fields={
                    "hard": MapOf(
                        doc="The most that may be used, by resource.",
                        values=QuantityText(doc="An amount of the resource."),
                    )
                },
            )
        },
    )
}
"""Kind -> declaration of what subresources answer."""

_YEAR: Final = timedelta(days=365)


def pages(resources: Sequence[Resource]) -> Mapping[str, Handler]:
    """Path -> handler."""
    everything = Described(resources, __version__, MEDIA_TYPES, _subresources())
    swagger = documents.version_2(everything)
    found = {_ROOT_V2: _version_2(codec.encode(swagger), gnostic.encode(swagger))}
    index = {}
    for name in sorted({resource.api_version for resource in resources}):
        of_version = [resource for resource in resources if resource.api_version == name]
        said = documents.version_3(replace(everything, resources=of_version))
        document = Document(codec.encode(said), JSON)
        path = f"{_ROOT_V3}/apis/{name}"
        found[path] = _version_3(path, document)
        index[f"apis/{name}"] = {"serverRelativeURL": _hashed(path, document)}
    found[_ROOT_V3] = _index(Document(codec.encode({"paths": index}), JSON))
    return found


def _subresources() -> Mapping[str, Sequence[Subresource]]:
    """As they are served, with what each answers; a KeyError tells of one that is not declared."""
    return {
        plural: [
            Subresource(each.name, each.group, each.version, each.kind, _ANSWERS[each.kind])
            for each in served
        ]
        for plural, served in SUBRESOURCES.items()
    }


def _hashed(path: str, document: Document) -> str:
    return f"{quote(path)}?hash={document.etag}"


def _version_2(body: bytes, protobuf: bytes) -> Handler:
    plain = Document(body, JSON)
    packed = Document(protobuf, gnostic.MEDIA_TYPE, plain.etag)
    by_type = {JSON: plain, **dict.fromkeys(_PROTOBUF_V2, packed)}

    async def answer(exchange: Exchange) -> web.StreamResponse:
        return cached.answer(exchange, _chosen(exchange, by_type))

    return answer


def _version_3(path: str, document: Document) -> Handler:
    by_type = {JSON: document}

    async def answer(exchange: Exchange) -> web.StreamResponse:
        chosen = _chosen(exchange, by_type)
        wanted = query.parse(exchange.info.query).get("hash", [""])[0]
        if not wanted:
            return cached.answer(exchange, chosen)
        if wanted != chosen.etag:
            moved = respond.text(exchange, "", status=301)
            moved.headers["Location"] = _hashed(path, chosen)
            return moved
        expires = format_datetime(exchange.clock() + _YEAR, usegmt=True)
        return cached.answer(exchange, chosen, cache_control="public, immutable", expires=expires)

    return answer


def _index(document: Document) -> Handler:
    async def answer(exchange: Exchange) -> web.StreamResponse:
        return cached.answer(exchange, document)

    return answer


def _chosen(exchange: Exchange, by_type: Mapping[str, Document]) -> Document:
    """The first that the client accepts. Raises 406."""
    for clause in clauses(exchange.header("Accept") or "*/*"):
        if clause.quality <= 0:
            continue
        if clause.media_range in ("*/*", "application/*", "*"):
            return by_type[JSON]
        if clause.media_range in by_type:
            return by_type[clause.media_range]
    raise errors.not_acceptable(tuple(by_type))
