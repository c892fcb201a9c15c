"""Very many connections on which nothing happens: little memory each, others are served, all is freed."""

import asyncio
import resource
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quotaapi.server.heap import LOOK_SECONDS
from tests.faults.footprint import Footprint, footprint
from tests.faults.rig import Bounds, Rig, one_etcd, rig
from tests.harness.server import ServerProcess

EACH_KIB = 150
"""What a connection may take: most of it is TLS's buffers."""
GROWTH = 1.10
LOAD_KIB = 64 * 1024
"""What the others' objects and events may take meanwhile."""
TRIM_SECONDS = 2 * LOOK_SECONDS
AT_ONCE = 50
"""Handshakes under way."""
SPARE_DESCRIPTORS = 8
OTHER_FILES = 500
"""Of this process and of the server, besides the connections."""
FREED_SECONDS = 300.0
"""Ten thousand ends of connections take a server that shares its machine a while."""


async def connections_idle(bounds: Bounds) -> None:
    """Each asks once, as a client does that keeps its connection, and is silent then.

    Opened twice: what the first ones took is free for the second ones.
    """
    count = min(bounds.connections, _file_limit() - OTHER_FILES)
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds) as running, running.load() as load:
        await load.some_answers(200)
        before = await _footprint(running)
        peaks: list[Footprint] = []
        for _ in range(2):
            async with idle(running.servers[0], count):
                await load.some_answers(200)
                peaks.append(await _footprint(running))
            after = await freed(running, before)
            each = (peaks[-1].rss_kib - before.rss_kib) / count
            bounds.say(f"{before.text()}; with {count} connections {peaks[-1].text()}")
            bounds.say(f"{each:.1f} KiB for each; after them {after.text()}")
            assert peaks[-1].descriptors >= count
            taken = peaks[-1].rss_kib - before.rss_kib
            assert taken < EACH_KIB * count + LOAD_KIB, peaks
        assert peaks[1].rss_kib < peaks[0].rss_kib * GROWTH + LOAD_KIB, peaks


def _file_limit() -> int:
    """As many open files as the system allows, for this process and those that it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@asynccontextmanager
async def idle(server: ServerProcess, count: int) -> AsyncIterator[None]:
    """So many connections, each of which has asked once; at the end all are cut."""
    context = server.ssl_context(admin=False)
    writers: list[asyncio.StreamWriter] = []
    try:
        while len(writers) < count:
            some = min(AT_ONCE, count - len(writers))
            writers += await asyncio.gather(*(_opened(server, context) for _ in range(some)))
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


async def _opened(server: ServerProcess, context: ssl.SSLContext) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head, head
    return writer


async def _footprint(running: Rig) -> Footprint:
    return await footprint(running.sessions[0], running.servers[0].pid)


async def freed(running: Rig, before: Footprint) -> Footprint:
    """When the connections' files are closed, the tasks that served them have ended, and memory has
    been given back. Some stays with the process: objects of others lie in between."""
    spare = SPARE_DESCRIPTORS + 2 * running.bounds.clients  # requests that are being served
    async with asyncio.timeout(FREED_SECONDS):
        while True:
            found = await _footprint(running)
            closed = found.descriptors <= before.descriptors + SPARE_DESCRIPTORS
            if closed and found.tasks <= before.tasks + spare:
                break
            await asyncio.sleep(0.1)  # another process: there is nothing to wait on
    await asyncio.sleep(TRIM_SECONDS)
    return await _footprint(running)
