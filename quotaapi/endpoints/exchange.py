"""One request on its way through the filters to its endpoint, and its body."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from apis.meta import errors
from apis.meta.request import ANONYMOUS, UserInfo
from quotaapi.endpoints.longanswer import Outgoing
from quotaapi.endpoints.requestinfo import RequestInfo
from quotaapi.registry.heavy import LARGE_BYTES, Heavy

MAX_BODY_BYTES = 3 * 1024 * 1024
"""kube-apiserver's limit for a request's body."""

BODY_SECONDS = 30.0
"""How long a body may take to arrive: less than a request may take, so that its answer is certain."""


@dataclass(slots=True)
class Exchange:
    """`user` is whom authentication found; before it, nobody. `clock` tells a table's ages.
    `heavy` takes what would keep others waiting; by `outgoing` long answers are written."""

    request: web.BaseRequest
    info: RequestInfo
    audit_id: str
    clock: Callable[[], datetime]
    heavy: Heavy
    outgoing: Outgoing
    user: UserInfo = ANONYMOUS

    def header(self, name: str) -> str:
        return self.request.headers.get(name, "")


Handler = Callable[[Exchange], Awaitable[web.StreamResponse]]
"""Raises StatusError for every answer that is no success."""


async def read_body(exchange: Exchange) -> bytes:
    """The whole body. Raises 413 as soon as it is known to be too long, the rest is not read; 408
    for one that does not come in BODY_SECONDS; 429 for a large one while too many are coming."""
    request = exchange.request
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()
    if not request.body_exists:
        return b""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await _invite(request)
    limit = asyncio.timeout(BODY_SECONDS)
    try:
        if request.content.is_eof():  # has come with the head: no timer is needed
            return await _read(exchange)
        async with limit:
            return await _read(exchange)
    except web.RequestPayloadError as error:
        raise errors.bad_request(f"malformed request body: {error}") from error
    except TimeoutError:
        if not limit.expired():
            raise
        raise errors.request_timeout(f"the body did not come within {BODY_SECONDS:g}s") from None


async def _read(exchange: Exchange) -> bytes:
    heavy, content = exchange.heavy, exchange.request.content
    chunks: list[bytes] = []
    size = counted = 0
    try:
        while chunk := await content.readany():
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise _too_large()
            if size > LARGE_BYTES:
                heavy.arrived(size - counted)
                counted = size
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
    finally:
        if counted:
            heavy.arrived(-counted)


async def _invite(request: web.BaseRequest) -> None:
    """Tell a client that holds its body back until it is wanted (curl, from a megabyte on)."""
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    # What counts as the beginning of the answer begins after this.
    request.writer.output_size = 0


def _too_large() -> errors.StatusError:
    return errors.entity_too_large(f"limit is {MAX_BODY_BYTES}")
