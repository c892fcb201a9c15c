"""GET of a collection with `?watch=`: a list that goes on.

1. What may still be refused with a status is refused: parameters, a version from the future.
2. Headers, at once: a client knows that it watches before anything happens.
3. The state, as ADDED events, where the client asked for it or named no version.
4. Events, each exactly once, in order; bookmarks in between, and at the end where they are allowed.

After the first byte an error is an ERROR event, the last line. The end is a clean one when the
time is up or the server stops: the client resumes from the last version that it saw.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import web

from apis.meta.errors import StatusError
from apis.meta.resource import Resource
from apis.meta.transaction import Record
from quotaapi.endpoints import frames, outlet, respond, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.encoding import BREATH_JSON, LARGE_JSON_BYTES
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.frames import Framer
from quotaapi.endpoints.listing import LONG_BYTES, WatchQuery, read_query, watch_query
from quotaapi.endpoints.negotiation import Representation, Shape, streamed
from quotaapi.registry.heavy import Heavy, breaths
from quotaapi.registry.rest import ListQuery, Rest
from storage.interface import Delivery, Event, Page, Predicate, Subscription

_log = logging.getLogger(__name__)

WRITE_SECONDS: Final = 60.0
"""How long a client may take nothing at all before its connection is cut."""

_JITTER: Final = 0.25
"""Bookmarks of many watches spread over this part of their interval."""


@dataclass(slots=True)
class _Watch:
    """One watch while it runs. `ends_at` and `bookmark_at` are times of the event loop's clock."""

    api: Api
    rest: Rest
    wanted: WatchQuery
    framer: Framer
    heavy: Heavy
    request: web.BaseRequest
    answer: web.StreamResponse
    ends_at: float
    bookmark_at: float


async def watch(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info, resource = exchange.info, rest.resource
    representation = streamed(exchange.header("Accept"))
    shapes.check_shape(representation, is_list=False)
    wanted = await read_query(exchange, resource, watch_query)
    now = asyncio.get_running_loop().time()
    running = _Watch(
        api,
        rest,
        wanted,
        _framer(exchange, resource, representation),
        exchange.heavy,
        exchange.request,
        web.StreamResponse(headers=respond.headers(exchange)),
        ends_at=now + _lifetime(api, wanted),
        bookmark_at=now + _until_bookmark(api),
    )
    length = len(info.query)
    with api.watches.counted(length if length >= LONG_BYTES else 0):
        try:
            initial, since = await _starting_point(rest, info.namespace, wanted)
            async with rest.watch(info.namespace, wanted.query, since) as subscription:
                await running.answer.prepare(exchange.request)
                await _stream(running, subscription, initial)
        except StatusError as error:
            await _fail(running, exchange, error)
        except ConnectionError:
            raise  # the client is gone
        # After the first byte the outermost filter can say nothing any more: what it does for
        # other requests is done here.
        except Exception:
            if not running.answer.prepared:
                raise
            _log.exception("watch of %r failed, audit id %s", info.path, exchange.audit_id)
            await _fail(running, exchange, respond.unexpected(exchange))
    return running.answer


def _framer(exchange: Exchange, resource: Resource, representation: Representation) -> Framer:
    if representation.shape is not Shape.TABLE:
        key = f"{representation.shape}/{representation.version}"
        return Framer(resource, representation, None, key)
    include = shapes.include_object(exchange.info.query)
    tables = shapes.Tables(resource, representation.version, include, exchange.clock)
    return Framer(resource, representation, tables, f"Table/{representation.version}/{include}")


def _lifetime(api: Api, wanted: WatchQuery) -> float:
    """What the client asks for; else a time that spreads the reconnects of many clients."""
    if wanted.timeout_seconds:
        return float(wanted.timeout_seconds)
    return api.min_request_timeout_seconds * (1 + api.random.random())


def _until_bookmark(api: Api) -> float:
    return api.bookmark_seconds * (1 - _JITTER * api.random.random())


async def _starting_point(
    rest: Rest, namespace: str, wanted: WatchQuery
) -> tuple[Page | None, int]:
    """The state to begin with, if any, and the version after which events are due."""
    query = wanted.query
    version = query.resource_version
    with_state = wanted.initial_events
    if with_state is None:
        with_state = version in (None, 0)
    if with_state:
        state = await rest.list(namespace, ListQuery(query.labels, query.fields, version))
        return state, state.resource_version
    return None, version or await rest.current_version()


async def _stream(running: _Watch, subscription: Subscription, initial: Page | None) -> None:
    if running.request.method == "HEAD":
        await running.answer.write_eof()
        return
    if initial is not None:
        await _write_state(running, initial)
    predicate = running.rest.matches(running.wanted.query)
    framer, bookmarks = running.framer, running.wanted.bookmarks
    loop = asyncio.get_running_loop()
    delivery = _delivery(running, predicate)
    while (now := loop.time()) < running.ends_at:
        if delivery is not None and framer.shared:
            subscription.deliver(delivery)
        until = min(running.ends_at, running.bookmark_at) if bookmarks else running.ends_at
        try:
            async with running.api.watches.interruptible():
                events = await subscription.next(max(until - now, 0.0))
        except TimeoutError:
            break
        if events:
            await _write(running, await _lines(running, events, predicate))
        if bookmarks and loop.time() >= running.bookmark_at:
            running.bookmark_at = loop.time() + _until_bookmark(running.api)
            await _write(running, framer.bookmark(subscription.progress))
    if bookmarks:
        await _write(running, framer.bookmark(subscription.progress))
    await running.answer.write_eof()


def _delivery(running: _Watch, predicate: Predicate | None) -> Delivery | None:
    if not outlet.chunked(running.request):
        return None
    framer = running.framer

    def encode(events: Sequence[Event]) -> bytes:
        if framer.work(events, predicate) > LARGE_JSON_BYTES:
            raise _TooLongError
        return frames.chunk(framer.lines(events, predicate))

    return Delivery(outlet.ChunkedOutlet(running.request), framer.form, encode)


class _TooLongError(Exception):
    """Encoding would take long: each watch is handed the events, and has it done in a thread."""


async def _lines(running: _Watch, events: Sequence[Event], predicate: Predicate | None) -> bytes:
    framer = running.framer
    if framer.work(events, predicate) <= LARGE_JSON_BYTES:
        return framer.lines(events, predicate)
    # Of no size, to those who count what waits: the events are there anyway, and whoever is first
    # encodes them for the other watches of this form.
    return await running.heavy.run(0, framer.lines, events, predicate)


async def _write_state(running: _Watch, state: Page) -> None:
    framer = running.framer

    def lines(records: Sequence[Record]) -> bytes:
        return b"".join([framer.record(record, frames.ADDED) for record in records])

    for records in breaths(state.records, BREATH_JSON):
        size = sum(len(record.body) for record in records)
        if framer.plain or size <= LARGE_JSON_BYTES:
            await running.heavy.turn()
            data = lines(records)
        else:
            data = await running.heavy.run(size, lines, records)
        await _write(running, data)
    if running.wanted.initial_events and running.wanted.bookmarks:
        end = framer.bookmark(state.resource_version, ends_initial_events=True)
        await _write(running, end)


async def _write(running: _Watch, data: bytes) -> None:
    """Raises ConnectionError for a client that is gone, or that takes nothing for too long."""
    if not data or running.request.method == "HEAD":
        return  # what follows a head alone would be taken for the next answer
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            await running.answer.write(data)
    except TimeoutError:
        raise ConnectionError("the client does not read its watch") from None


async def _fail(running: _Watch, exchange: Exchange, error: StatusError) -> None:
    """Tell the client: with a status while that is possible, else with the last line.

    A version that is gone is always told in the stream, as kube-apiserver does.
    """
    if not running.answer.prepared:
        if error.code != HTTPStatus.GONE:
            raise error
        await running.answer.prepare(exchange.request)
    await _write(running, frames.error_line(error.status()))
    await running.answer.write_eof()
