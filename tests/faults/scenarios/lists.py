"""Very many long answers that are read, half read and not read: little memory each, others are served."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.builders import a_quota
from tests.faults.filling import fill
from tests.faults.footprint import footprint
from tests.faults.rig import Bounds, Rig, one_etcd, rig
from tests.faults.scenarios.connections import freed
from tests.harness.server import GROUP_PATH, ServerProcess

PADDING = 1_300
"""With it a quota is as long as an ordinary shoot, 1.8 KB."""
EACH_KIB = 400
"""What an answer may take, however long it is: a piece, 250 KiB of TLS's buffers, and, while others
write, a share of the references to the 20,000 records of its version."""
LOAD_KIB = 96 * 1024
"""What the others' objects and events may take meanwhile."""
READ_BYTES = 64 * 1024
"""What a client reads at once, and takes without reading."""
LISTS_PER_SECOND = 50_000
"""Objects of all lists together that are served in a second, at least: by it a request's time is set."""
FILLED_SECONDS = 60.0
READ_WHOLE = 3
"""One list in so many is read whole, one half, the others not at all."""
SHAPES = (
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
)


@dataclass(slots=True)
class Tally:
    """`whole`: lists that were read to their end."""

    whole: int = 0


async def lists_unread(bounds: Bounds) -> None:
    """A third of the clients reads all, a third half, and a third nothing; every tenth wants another shape.

    What is not read ends with the request's time, and its memory is given back.
    """
    seconds = max(15, bounds.listers * bounds.objects // LISTS_PER_SECOND)
    arguments = ("--request-timeout", f"{seconds}s")
    async with (
        one_etcd() as etcd,
        rig(etcd.endpoint, bounds, arguments=arguments) as running,
    ):
        await running.apis[0].have(a_quota())
        await fill(etcd.endpoint, bounds.objects, padding=PADDING)
        await _filled(running, bounds.objects)
        server, session = running.servers[0], running.sessions[0]
        async with running.load() as load:
            await load.some_answers(200)
            before = await footprint(session, server.pid)
            peak_kib = 0
            async with _listing(server, bounds.listers) as tally:
                async with asyncio.timeout(3 * seconds):
                    while tally.whole < bounds.listers // READ_WHOLE:
                        await load.some_answers(20)
                        found = await footprint(session, server.pid)
                        peak_kib = max(peak_kib, found.rss_kib)
                # The others' clients are still there.
                after = await freed(running, before)
        bounds.say(
            f"{before.text()}; with {bounds.listers} lists of {bounds.objects} objects "
            f"{peak_kib / 1024:.0f} MiB; after them {after.text()}"
        )
        assert peak_kib - before.rss_kib < EACH_KIB * bounds.listers + LOAD_KIB
        assert after.rss_kib < before.rss_kib + LOAD_KIB


async def _filled(running: Rig, count: int) -> None:
    async with asyncio.timeout(FILLED_SECONDS):
        while True:
            answer = await running.apis[0].request("GET", "quotas?limit=1")
            if answer.body["metadata"].get("remainingItemCount", 0) >= count:
                return
            await asyncio.sleep(0.1)  # another process: there is nothing to wait on


@asynccontextmanager
async def _listing(server: ServerProcess, count: int) -> AsyncIterator[Tally]:
    tally = Tally()
    context = server.ssl_context()
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_list(server, context, number, tally)) for number in range(count)
        ]
        yield tally
        for task in tasks:
            task.cancel()


async def _list(server: ServerProcess, context: ssl.SSLContext, number: int, tally: Tally) -> None:
    accept = SHAPES[number // 10 % len(SHAPES)] if number % 10 == 0 else SHAPES[0]
    reader, writer = await _connection(server, context)
    try:
        writer.write(
            f"GET {GROUP_PATH}/quotas?resourceVersion=0 HTTP/1.1\r\nHost: localhost\r\n"
            f"Accept: {accept}\r\nConnection: close\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head, head
        if number % READ_WHOLE == 0:
            await _read(reader, 1 << 40)
            tally.whole += 1
            return
        if number % READ_WHOLE == 1:
            await _read(reader, 1 << 20)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a transport that reads
        await asyncio.Event().wait()
    finally:
        writer.transport.abort()


async def _read(reader: asyncio.StreamReader, most: int) -> None:
    while most > 0 and (data := await reader.read(READ_BYTES)):
        most -= len(data)


async def _connection(
    server: ServerProcess, context: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """With a small buffer of the kernel's, which would take some megabytes for a client."""
    sock = socket.socket()
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BYTES)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port))
    return await asyncio.open_connection(
        sock=sock, ssl=context, server_hostname="127.0.0.1", limit=READ_BYTES
    )
