"""A client that writes as fast as it can and takes little of the machine itself.

Creates and patches go over one connection, as bytes that were made before; only the answer's status
is looked at, since other clients check what is stored.
"""

import asyncio
from collections.abc import Iterator

from apis.meta import codec
from tests.builders import a_shoot
from tests.harness.api import Api
from tests.harness.server import GROUP_PATH, ServerProcess

BATCH = 20
"""Objects that exist of each hose's at once."""
_NAME = "NAME"
_PATCH = "application/merge-patch+json"


class Hose:
    """Owns a namespace that has a binding named `binding`."""

    def __init__(self, server: ServerProcess, namespace: str) -> None:
        self.namespace = namespace
        self._server = server
        self._path = f"{GROUP_PATH}/namespaces/{namespace}/shoots"
        self._shoot = codec.encode(a_shoot(name=_NAME, namespace=namespace)).decode()

    async def run(self, api: Api, serial: Iterator[int], writes: int) -> int:
        """Create, label and delete until so many writes are done; answers how many there were."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._server.port, ssl=self._server.ssl_context()
        )
        wire = _Wire(reader, writer)
        done = 0
        try:
            while done < writes:
                names = [f"h{next(serial)}" for _ in range(BATCH)]
                for name in names:
                    created = await wire.ask("POST", self._path, self._shoot.replace(_NAME, name))
                    assert created == 201, created
                for name in names:
                    body = f'{{"metadata":{{"labels":{{"serial":"{name}"}}}}}}'
                    patched = await wire.ask("PATCH", f"{self._path}/{name}", body, _PATCH)
                    assert patched == 200, patched
                answer = await api.request("DELETE", self._path)
                assert answer.status == 200, answer
                done += 3 * BATCH
        finally:
            writer.close()
        return done


class _Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, method: str, path: str, text: str, media: str = "application/json") -> int:
        """The status of the answer."""
        body = text.encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in answer.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        await self._reader.readexactly(length)
        return int(answer[9:12])
