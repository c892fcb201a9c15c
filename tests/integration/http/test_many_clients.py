"""Many clients at once, on the event loop that the server runs on."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
import uvloop

from quotaapi.endpoints.longanswer import WRITE_BUFFER_BYTES
from quotaapi.server.listener import Listener
from tests.fakes.http_server import http_server
from tests.integration.http.test_unread import asking, fill

pytestmark = pytest.mark.integration

CLIENTS = 20


async def full_transport(listener: Listener) -> Any:
    """Of the only connection, once it takes no more."""
    async with asyncio.timeout(30):
        while True:
            if (there := listener._server.connections) and there[0]._paused:
                return there[0].transport
            await asyncio.sleep(0.01)  # the client's kernel takes what it takes


def test_what_a_client_does_not_read_is_bounded(certificates: Path) -> None:
    async def unread() -> int:
        async with http_server(certificates) as server:
            fill(server)
            writer = await asking(server)
            try:
                size: int = (await full_transport(server.listener)).get_write_buffer_size()
                return size
            finally:
                writer.transport.abort()

    assert WRITE_BUFFER_BYTES <= uvloop.run(unread()) < 4 * WRITE_BUFFER_BYTES


def test_one_connection_is_accepted_in_a_turn_of_the_loop(certificates: Path) -> None:
    async def connecting() -> None:
        async with http_server(certificates) as server:
            listener, address = server.listener, ("127.0.0.1", server.port)
            clients = [socket.create_connection(address) for _ in range(CLIENTS)]
            accepted = 0
            try:
                async with asyncio.timeout(30):
                    while accepted < CLIENTS:
                        await asyncio.sleep(0)
                        before, accepted = accepted, listener.connections
                        assert accepted - before <= 1
            finally:
                for client in clients:
                    client.close()

    uvloop.run(connecting())
