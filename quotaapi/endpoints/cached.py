"""Documents that are made once and answered as they are: bytes, their hash, and what caches are told."""

import gzip
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from aiohttp import web

from quotaapi.endpoints import respond
from quotaapi.endpoints.compression import accepts_gzip
from quotaapi.endpoints.exchange import Exchange

_LEAST_GZIPPED_BYTES: Final = 1400
"""What fits in one packet gains nothing."""


@dataclass(frozen=True, slots=True)
class Document:
    """`etag` is of the JSON where a document has several encodings: Vary tells them apart."""

    body: bytes
    content_type: str
    etag: str = ""
    gzipped: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.etag:
            object.__setattr__(self, "etag", hash_of(self.body))
        large = len(self.body) >= _LEAST_GZIPPED_BYTES
        # mtime=0: replicas answer with the same bytes.
        object.__setattr__(self, "gzipped", gzip.compress(self.body, mtime=0) if large else b"")


def hash_of(body: bytes) -> str:
    return sha256(body).hexdigest().upper()


def answer(
    exchange: Exchange, document: Document, *, cache_control: str = "", expires: str = ""
) -> web.Response:
    """The document, or 304 where the client has it already."""
    gzipped = document.gzipped and accepts_gzip(exchange.header("Accept-Encoding"))
    body = document.gzipped if gzipped else document.body
    headers = respond.headers(exchange, document.content_type)
    headers["ETag"] = f'"{document.etag}"'
    headers["Vary"] = "Accept, Accept-Encoding"
    if cache_control:
        headers["Cache-Control"] = cache_control
    if expires:
        headers["Expires"] = expires
    if _has(exchange.header("If-None-Match"), document.etag):
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    if gzipped:
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=body, headers=headers)


def _has(if_none_match: str, etag: str) -> bool:
    """Weak comparison, as RFC 9110 has it for this header."""
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in ("*", f'"{etag}"') for tag in tags)
