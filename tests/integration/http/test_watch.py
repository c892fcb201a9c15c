"""Watches over a real connection."""

import asyncio
import threading

import aiohttp
import pytest

from apis.meta import codec, errors
from tests.builders import a_quota
from tests.fakes.http_server import QUOTAS, HttpServer, http_server, lines_of


def store(server: HttpServer, name: str, **labels: str) -> None:
    quota = a_quota(name=name, namespace="ns")
    quota["metadata"]["labels"] = labels
    server.quotas._store("ns", name, quota)


async def events(answer, number: int) -> list[tuple[str, str]]:
    lines = [codec.decode_json(line).value for line in await lines_of(answer, number)]
    return [(line["type"], line["object"]["metadata"].get("name", "")) for line in lines]


async def open_watch(server: HttpServer, **query: str) -> aiohttp.ClientResponse:
    return await server.session.get(QUOTAS, params={"watch": "1", **query})


async def test_headers_come_before_any_event(server) -> None:
    async with asyncio.timeout(5):
        answer = await open_watch(server, resourceVersion="1999")

    assert (answer.status, answer.content_type) == (200, "application/json")
    answer.close()


async def test_events_come_as_they_happen(server) -> None:
    answer = await open_watch(server, resourceVersion="1999")
    store(server, "a")
    store(server, "a", x="y")
    server.quotas._remove("ns", "a")

    assert await events(answer, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    answer.close()


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}, {"resourceVersion": ""}])
async def test_without_a_version_the_state_comes_first(server, query) -> None:
    store(server, "a")
    answer = await open_watch(server, **query)
    first = await events(answer, 1)
    store(server, "b")

    assert first + await events(answer, 1) == [("ADDED", "a"), ("ADDED", "b")]
    answer.close()


async def test_a_selector_turns_changes_into_what_the_watcher_sees(server) -> None:
    store(server, "a", on="1")
    answer = await open_watch(server, resourceVersion="2999", labelSelector="on=1")
    store(server, "a", on="0")
    store(server, "a", on="1")
    store(server, "a", on="1", more="1")
    store(server, "other")

    assert await events(answer, 3) == [("DELETED", "a"), ("ADDED", "a"), ("MODIFIED", "a")]
    answer.close()


async def test_initial_events_end_with_the_bookmark_that_says_so(server) -> None:
    store(server, "a")
    answer = await open_watch(
        server,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )

    lines = [codec.decode_json(line).value for line in await lines_of(answer, 2)]

    assert [line["type"] for line in lines] == ["ADDED", "BOOKMARK"]
    assert lines[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    answer.close()


async def test_initial_events_can_be_declined(server) -> None:
    store(server, "a")
    answer = await open_watch(
        server, sendInitialEvents="false", resourceVersionMatch="NotOlderThan"
    )
    store(server, "b")

    assert await events(answer, 1) == [("ADDED", "b")]
    answer.close()


async def test_bookmarks_come_now_and_then_where_they_are_allowed(certificates) -> None:
    async with http_server(certificates, bookmark_seconds=0.02) as server:
        answer = await open_watch(server, resourceVersion="1999", allowWatchBookmarks="true")

        assert await events(answer, 2) == [("BOOKMARK", ""), ("BOOKMARK", "")]
        answer.close()


async def test_a_watch_ends_when_its_time_is_up_with_a_last_bookmark(server) -> None:
    answer = await open_watch(
        server, resourceVersion="1999", timeoutSeconds="1", allowWatchBookmarks="true"
    )

    assert await events(answer, 1) == [("BOOKMARK", "")]
    assert await answer.content.read() == b""


async def test_the_end_of_the_server_ends_watches_cleanly(server) -> None:
    answer = await open_watch(server, resourceVersion="1999", allowWatchBookmarks="true")
    store(server, "a")
    assert await events(answer, 1) == [("ADDED", "a")]

    server.watches.end()

    last = codec.decode_json((await lines_of(answer, 1))[0]).value
    assert last["object"]["metadata"]["resourceVersion"] == "2000"
    assert await answer.content.read() == b""


async def test_a_client_that_leaves_frees_its_watch(server) -> None:
    answer = await open_watch(server, resourceVersion="1999")
    assert (len(server.quotas.subscriptions), server.watches.open) == (1, 1)

    answer.close()

    async with asyncio.timeout(5):
        while server.watches.open:  # noqa: ASYNC110 -- the end of a socket is nobody's event
            await asyncio.sleep(0.001)
    assert server.quotas.subscriptions == []


async def test_a_version_that_is_gone_is_told_in_the_stream(server) -> None:
    server.quotas.watch_error = errors.expired("too old resource version: 1 (2)")

    answer = await open_watch(server, resourceVersion="1")
    line = codec.decode_json(await answer.content.read()).value

    assert (answer.status, line["type"], line["object"]["code"]) == (200, "ERROR", 410)


async def test_what_else_prevents_a_watch_is_a_status(server) -> None:
    server.quotas.watch_error = errors.too_large_resource_version(9, 1)

    answer = await open_watch(server, resourceVersion="9")

    assert (answer.status, (await answer.json())["reason"]) == (504, "Timeout")


@pytest.mark.parametrize(
    ("error", "code"),
    [(errors.expired("gone"), 410), (errors.too_many_requests("too slow"), 429)],
)
async def test_an_error_after_the_first_byte_is_the_last_event(server, error, code) -> None:
    answer = await open_watch(server, resourceVersion="1999")
    server.quotas.announce(error)

    line = codec.decode_json(await answer.content.read()).value

    assert (line["type"], line["object"]["code"]) == ("ERROR", code)


async def test_a_watch_as_table_names_its_columns_once(server) -> None:
    answer = await server.session.get(
        QUOTAS,
        params={"watch": "1", "resourceVersion": "1999"},
        headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"},
    )
    store(server, "a")
    store(server, "b")

    tables = [codec.decode_json(line).value["object"] for line in await lines_of(answer, 2)]

    assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]
    assert [bool(table["columnDefinitions"]) for table in tables] == [True, False]
    answer.close()


async def test_a_fault_in_the_middle_of_a_watch_is_its_last_event(server) -> None:
    answer = await open_watch(server, resourceVersion="1999")
    server.quotas.announce(ZeroDivisionError("secret"))

    text = await answer.content.read()

    line = codec.decode_json(text).value
    assert (line["type"], line["object"]["code"]) == ("ERROR", 500)
    assert b"secret" not in text


def heavy_threads() -> set[int | None]:
    return {each.ident for each in threading.enumerate() if each.name.startswith("heavy")}


@pytest.mark.parametrize("shape", ["Table", "PartialObjectMetadata"])
async def test_large_objects_are_shaped_in_threads_as_state_and_as_events(server, shape) -> None:
    before = heavy_threads()
    store(server, "a", text="x" * 300_000)
    accept = f"application/json;as={shape};v=v1;g=meta.k8s.io"
    answer = await server.session.get(QUOTAS, params={"watch": "1"}, headers={"Accept": accept})
    (state,) = await lines_of(answer, 1)
    after_state = heavy_threads()
    store(server, "b", text="x" * 300_000)
    (event,) = await lines_of(answer, 1)
    answer.close()

    for line, name in ((state, "a"), (event, "b")):
        obj = codec.decode_json(line).value["object"]
        shown = obj["rows"][0]["object"] if shape == "Table" else obj
        assert shown["metadata"]["name"] == name
    assert after_state - before
