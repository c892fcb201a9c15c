"""Many watches of one collection on a whole server: told in common, each as it asked."""

import asyncio
from collections.abc import Sequence

import aiohttp
import pytest

from apis.meta import codec
from tests.builders import a_quota
from tests.harness.api import Api
from tests.harness.server import GROUP_PATH, ServerProcess

QUOTAS = f"{GROUP_PATH}/namespaces/garden-trial/quotas"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
NUMBER = 30
SECONDS = "5"


async def _names(
    session: aiohttp.ClientSession, opened: asyncio.Barrier, accept: str, **query: str
) -> Sequence[str]:
    """What a watch is told until its time is up; ends with `end` where that was a clean end."""
    params = {"watch": "1", "timeoutSeconds": SECONDS, **query}
    names = []
    async with session.get(QUOTAS, params=params, headers={"Accept": accept}) as answer:
        await opened.wait()
        async for line in answer.content:
            event = codec.decode_json(line).value
            obj = event["object"]
            rows = obj.get("rows")
            metadata = rows[0]["object"]["metadata"] if rows else obj["metadata"]
            names.append(metadata["name"] if event["type"] != "BOOKMARK" else "bookmark")
    return [*names, "end"]


async def _over_http10(server: ServerProcess, opened: asyncio.Barrier) -> bytes:
    """All that an old client gets, which knows no chunks."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=server.ssl_context(), server_hostname="127.0.0.1"
    )
    try:
        target = f"{QUOTAS}?watch=1&timeoutSeconds={SECONDS}"
        writer.write(f"GET {target} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        await opened.wait()
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.usefixtures("api")
async def test_every_watch_is_told_everything_once_in_order_and_in_its_form(
    server: ServerProcess, api: Api
) -> None:
    opened = asyncio.Barrier(13)
    async with server.client() as session, asyncio.TaskGroup() as tasks:
        plain = [tasks.create_task(_names(session, opened, "application/json")) for _ in range(5)]
        shaped = [
            tasks.create_task(_names(session, opened, accept)) for accept in (TABLE, METADATA) * 2
        ]
        one = tasks.create_task(
            _names(session, opened, "application/json", fieldSelector="metadata.name=quota-7")
        )
        marked = tasks.create_task(
            _names(session, opened, "application/json", allowWatchBookmarks="true")
        )
        old = tasks.create_task(_over_http10(server, opened))
        await opened.wait()
        created = []
        for number in range(NUMBER):
            answer = await api.create(a_quota(name=f"quota-{number}"))
            assert answer.status == 201
            created.append(f"quota-{number}")
    told = [*created, "end"]
    assert [watch.result() for watch in (*plain, *shaped)] == [told] * 9
    assert one.result() == ["quota-7", "end"]
    assert marked.result() == [*created, "bookmark", "end"]
    lines = old.result().splitlines()
    assert [
        codec.decode_json(line).value["object"]["metadata"]["name"] for line in lines
    ] == created


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize("since", ["", "&resourceVersion=1"], ids=["begins", "is too old"])
async def test_the_head_of_a_watch_is_followed_by_nothing_but_the_next_answer(
    server: ServerProcess, api: Api, since: str
) -> None:
    await api.have(a_quota())
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=server.ssl_context(), server_hostname="127.0.0.1"
    )
    try:
        async with asyncio.timeout(5):
            target = f"{QUOTAS}?watch=1&timeoutSeconds={SECONDS}&allowWatchBookmarks=true{since}"
            writer.write(f"HEAD {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    finally:
        writer.close()
