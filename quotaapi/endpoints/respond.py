"""Answers: bytes on their way out. A stored object's JSON is sent as it is stored, never decoded."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from aiohttp import web
from multidict import CIMultiDict

from apis.meta import codec, errors
from apis.meta.errors import StatusError
from quotaapi.endpoints import query
from quotaapi.endpoints.compression import LEAST_BYTES, accepts_gzip, gzipped
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.longanswer import PIECE_BYTES, Piece
from quotaapi.endpoints.negotiation import JSON, YAML, Representation

Headers = CIMultiDict[str]

NO_CACHE: Final = "no-cache, private"
_MAX_WARNING_BYTES: Final = 4096
"""kube-apiserver's bound for all warnings of one answer."""


def headers(exchange: Exchange, content_type: str = JSON) -> Headers:
    """What every answer says. `Server` keeps library and version to ourselves."""
    return CIMultiDict(
        (
            ("Audit-Id", exchange.audit_id),
            ("Cache-Control", NO_CACHE),
            ("Content-Type", content_type),
            ("Server", "quotaapi"),
        )
    )


def raw(
    exchange: Exchange, body: bytes, *, status: int = 200, content_type: str = JSON
) -> web.Response:
    """For what is no longer than an object may be; longer answers are `long`."""
    said = headers(exchange, content_type)
    if len(body) >= LEAST_BYTES:
        said["Vary"] = "Accept-Encoding"
        if accepts_gzip(exchange.header("Accept-Encoding")):
            said["Content-Encoding"] = "gzip"
            body = gzipped(body)
    return web.Response(status=status, body=body, headers=said)


def text(exchange: Exchange, body: str, *, status: int = 200) -> web.Response:
    """Plain text, as Go's `http.Error` and health checks answer."""
    answer = raw(exchange, body.encode(), status=status, content_type="text/plain; charset=utf-8")
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def no_such_page(exchange: Exchange) -> web.Response:
    """A path that the server does not know at all; Go's words."""
    return text(exchange, "404 page not found\n", status=404)


def wants_pretty(exchange: Exchange) -> bool:
    """`?pretty=` decides; without it, people's clients get indented JSON, as from kube-apiserver."""
    text = exchange.info.query
    if "pretty" in text and (chosen := query.boolean(query.parse(text), "pretty")) is not None:
        return chosen
    return exchange.header("User-Agent").startswith(("curl", "Wget", "Mozilla/5.0"))


def value(
    exchange: Exchange, obj: Any, representation: Representation, *, status: int = 200
) -> web.Response:
    """Anything that is JSON, in the media type that was negotiated."""
    if representation.yaml:
        return raw(exchange, codec.encode_yaml(obj), status=status, content_type=YAML)
    encode = codec.encode_pretty if wants_pretty(exchange) else codec.encode
    return raw(exchange, encode(obj), status=status)


def stored(
    exchange: Exchange, body: bytes, representation: Representation, *, status: int = 200
) -> web.Response:
    """`body` is JSON already; `representation` is not of another shape."""
    if representation.yaml or wants_pretty(exchange):
        return value(exchange, codec.decode_json(body).value, representation, status=status)
    return raw(exchange, body, status=status)


def failure(exchange: Exchange, error: StatusError) -> web.Response:
    """A Status; always as JSON, whatever was asked for: it must get through."""
    encode = codec.encode_pretty if wants_pretty_safely(exchange) else codec.encode
    answer = raw(exchange, encode(error.status()), status=error.code)
    if error.retry_after_seconds is not None:
        answer.headers["Retry-After"] = str(error.retry_after_seconds)
    if error.code == 401:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="quotaapi"'
    return answer


def unexpected(exchange: Exchange) -> StatusError:
    """A fault of our own, as the client is told of it; the log has the rest under the same id."""
    return errors.internal_error(f"unexpected fault of the server, request {exchange.audit_id}")


def wants_pretty_safely(exchange: Exchange) -> bool:
    """As `wants_pretty`, where the query itself may be what is wrong."""
    try:
        return wants_pretty(exchange)
    except StatusError:
        return False


def add_warnings(answer: web.StreamResponse, warnings: Sequence[str]) -> None:
    """RFC 7234 warnings with code 299, as kubectl shows them; those beyond kube's bound are left out."""
    size = 0
    for warning in dict.fromkeys(warnings):
        line = f'299 - "{_quoted(warning)}"'
        size += len(line.encode())
        if size > _MAX_WARNING_BYTES:
            return
        answer.headers.add("Warning", line)


def _quoted(warning: str) -> str:
    clean = "".join(char if char.isprintable() else " " for char in warning)
    return clean.replace("\\", "\\\\").replace('"', '\\"')


async def long(
    exchange: Exchange,
    pieces: AsyncIterator[Piece],
    *,
    status: int = 200,
    content_type: str = JSON,
    length: int | None = None,
) -> web.StreamResponse:
    """An answer of 128 KiB and more, or of a `length` that is not known, as its client reads it."""
    request = exchange.request
    answer = web.StreamResponse(status=status, headers=headers(exchange, content_type))
    answer.headers["Vary"] = "Accept-Encoding"
    gzip = accepts_gzip(exchange.header("Accept-Encoding"))
    if gzip:
        answer.headers["Content-Encoding"] = "gzip"
    elif length is not None:
        answer.content_length = length
    await answer.prepare(request)
    if request.method != "HEAD":
        await exchange.outgoing.write(request, pieces, gzip=gzip)
        await answer.write_eof()
    return answer


async def finish(exchange: Exchange, answer: web.StreamResponse) -> None:
    """Write an answer that is there as a whole, where it is longer than goes out at once.

    Raises 429 for a read while too many such answers are under way.
    """
    if not isinstance(answer, web.Response) or exchange.request.method == "HEAD":
        return
    body = answer.body
    if not isinstance(body, bytes) or len(body) <= PIECE_BYTES:
        return
    outgoing = exchange.outgoing
    with outgoing.private(len(body), refuses=not exchange.info.mutating):
        await answer.prepare(exchange.request)
        await outgoing.write_bytes(exchange.request, body)
        # Its own would write the body.
        await web.StreamResponse.write_eof(answer)
