"""Clients that do not read their answers."""

import asyncio
import contextlib
import gzip
import socket
from pathlib import Path

import pytest

from quotaapi.registry.heavy import MAX_WAITING_BYTES
from tests.fakes.http_server import QUOTAS, HttpServer, http_server

COUNT = 40
TEXT = "x" * 500_000
"""20 MB in all: more than the kernel takes for a client."""


def fill(server: HttpServer) -> None:
    for number in range(COUNT):
        metadata = {"name": f"q{number}", "namespace": "ns", "uid": str(number), "text": TEXT}
        quota = {"apiVersion": "garden.sapcloud.io/v1beta1", "kind": "Quota", "metadata": metadata}
        server.quotas._store("ns", f"q{number}", quota)


async def asking(server: HttpServer, path: str = QUOTAS, more: str = "") -> asyncio.StreamWriter:
    """A client that reads nothing, and whose kernel takes little for it."""
    sock = socket.socket()
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port))
    _, writer = await asyncio.open_connection(
        sock=sock, ssl=server.client_ssl(), server_hostname="127.0.0.1", limit=64 * 1024
    )
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a transport that reads
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n{more}\r\n"
    writer.write(head.encode())
    return writer


async def until_running(server: HttpServer, count: int) -> None:
    async with asyncio.timeout(30):
        while server.reads.running != count:  # noqa: ASYNC110 -- a counter
            await asyncio.sleep(0.01)  # requests are on their way, and end by timers


async def until_connections(server: HttpServer, count: int) -> None:
    async with asyncio.timeout(30):
        while server.listener.connections != count:  # noqa: ASYNC110 -- a counter
            await asyncio.sleep(0.01)  # the connections end by timers


@pytest.mark.parametrize(
    ("path", "more"),
    [
        (QUOTAS, ""),
        (f"{QUOTAS}?pretty=1", ""),
        (QUOTAS, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n"),
    ],
)
async def test_an_unread_list_holds_its_place_and_ends_with_its_time(
    certificates: Path, path: str, more: str
) -> None:
    async with http_server(certificates, timeout_seconds=1.0) as server:
        fill(server)
        if "Table" in more:
            path = f"{path}?includeObject=Object"
        writer = await asking(server, path, more)
        try:
            await until_running(server, 1)
            await until_running(server, 0)
            await until_connections(server, 0)
        finally:
            writer.transport.abort()


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_a_list_that_is_read_slowly_is_whole_and_its_connection_goes_on(
    server: HttpServer, encoding: str
) -> None:
    fill(server)
    headers = {"Accept-Encoding": encoding}
    for _ in range(2):
        async with server.session.get(QUOTAS, headers=headers) as answer:
            assert answer.headers.get("Content-Encoding", "identity") == encoding
            body = await answer.json()
        assert [item["metadata"]["text"] for item in body["items"]] == [TEXT] * COUNT
    assert server.listener.connections == 1


async def test_a_list_of_known_length_says_it_and_its_head_alone_too(server: HttpServer) -> None:
    fill(server)
    headers = {"Accept-Encoding": "identity"}
    async with server.session.get(QUOTAS, headers=headers) as answer:
        length = int(answer.headers["Content-Length"])
        assert len(await answer.read()) == length
    async with server.session.head(QUOTAS, headers=headers) as answer:
        assert int(answer.headers["Content-Length"]) == length
        assert await answer.read() == b""


async def test_what_is_compressed_in_pieces_is_one_stream(server: HttpServer) -> None:
    fill(server)
    async with server.session.get(
        QUOTAS, headers={"Accept-Encoding": "gzip"}, auto_decompress=False
    ) as answer:
        assert gzip.decompress(await answer.read()).endswith(b"]}")


async def test_a_large_object_is_written_within_its_request(certificates: Path) -> None:
    async with http_server(certificates, timeout_seconds=2.0) as server:
        metadata = {"name": "large", "namespace": "ns", "uid": "u", "text": "x" * 10_000_000}
        server.quotas._store(
            "ns", "large", {"apiVersion": "v", "kind": "Quota", "metadata": metadata}
        )
        for path in (f"{QUOTAS}/large", f"{QUOTAS}/large?pretty=1"):
            writer = await asking(server, path)
            try:
                await until_connections(server, 1)
                await until_connections(server, 0)
            finally:
                writer.transport.abort()


async def test_requests_that_follow_an_unread_answer_are_not_carried_out(
    certificates: Path,
) -> None:
    async with http_server(certificates, timeout_seconds=1.0) as server:
        fill(server)
        writer = await asking(server)
        try:
            one = f"GET {QUOTAS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n\r\n"
            writer.write(200 * one.encode())
            await until_running(server, 1)
            await until_connections(server, 0)
            assert len(server.quotas.queries) == 1
        finally:
            writer.transport.abort()


async def test_large_bodies_that_do_not_end_are_bounded_and_small_ones_come_through(
    server: HttpServer,
) -> None:
    """Each sends two of three megabytes and then nothing."""
    writers = []
    head = (
        f"POST {QUOTAS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n"
        "Content-Type: application/json\r\nContent-Length: 3000000\r\n\r\n"
    ).encode()
    refused = 0
    try:
        for _ in range(MAX_WAITING_BYTES // 2_000_000 + 2):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", server.port, ssl=server.client_ssl()
            )
            writers.append(writer)
            writer.write(head + b" " * 2_000_000)
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(0.3):
                    await writer.drain()
                    refused += b" 429 " in await reader.readuntil(b"\r\n")
        assert refused

        quota = {
            "apiVersion": "garden.sapcloud.io/v1beta1",
            "kind": "Quota",
            "metadata": {"name": "s"},
        }
        async with server.session.post(QUOTAS, json=quota) as answer:
            assert answer.status == 201, await answer.text()
    finally:
        for writer in writers:
            writer.transport.abort()
