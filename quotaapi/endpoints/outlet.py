"""A watch's connection, as those see it who write the same bytes to many watches."""

from aiohttp import HttpVersion11, web

HIGH_WATER_BYTES = 256 * 1024
"""What a connection may keep of a watch before its client is behind; the kernel's buffers come first."""


class ChunkedOutlet:
    """`storage.interface.Outlet` on an answer in chunks whose head has been written.

    It writes past aiohttp's writer, which frames and joins each chunk anew, with a copy for every watch.
    Who encodes for it frames, once for all (`frames.chunk`).
    """

    __slots__ = ("_protocol",)

    def __init__(self, request: web.BaseRequest) -> None:
        self._protocol = request.protocol
        transport = request.transport
        if transport is not None:
            transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)

    @property
    def ready(self) -> bool:
        protocol = self._protocol
        transport = protocol.transport
        return transport is not None and not protocol.writing_paused and not transport.is_closing()

    def write(self, data: bytes) -> None:
        transport = self._protocol.transport
        if transport is not None:
            transport.write(data)


def chunked(request: web.BaseRequest) -> bool:
    """Whether answers of unknown length go out in chunks: HTTP/1.0 knows none."""
    return request.version >= HttpVersion11
