"""Messages between the supervisor and one worker; a message may bring a connection along.

A pair of connected sockets that both inherit: no name in any file system, so nobody else can reach
it, and nothing is left of it after a kill. Packets, not a stream: a message is whole or absent. When
either process is gone, however it went, the other one reads the end.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any, Final

from apis.meta import codec

_log = logging.getLogger(__name__)

Message = dict[str, Any]

_LARGEST: Final = 192 * 1024
"""What Linux takes in one packet with the buffers that an ordinary process may have."""

Heard = Callable[[Message, socket.socket | None], None]


def pair() -> tuple[socket.socket, socket.socket]:
    """Both ends: one is wrapped in a Channel here, the other's number goes to the worker."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Channel:
    """One end. `listen` once, inside the event loop; `close` when done."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._heard: Heard | None = None
        self._ended: Callable[[], None] = lambda: None

    def listen(self, heard: Heard, ended: Callable[[], None]) -> None:
        """`heard` gets each message, and owns its connection; `ended` is called once, at the end.

        A process that has no descriptor left gets the message without its connection.
        """
        self._heard, self._ended = heard, ended
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._read)

    def send(self, message: Message, connection: socket.socket | None = None) -> bool:
        """False where the other side is gone, or is so far behind that its buffer is full.

        Nothing waits here: what is sent is repeated, or goes to somebody else. The connection
        stays the caller's to close; the other side gets its own.
        """
        packet = codec.encode(message)
        if len(packet) > _LARGEST:
            _log.error("a message of %d bytes is too large: %s", len(packet), list(message))
            return False
        try:
            if connection is None:
                self._socket.send(packet)
            else:
                socket.send_fds(self._socket, [packet], [connection.fileno()])
        except ConnectionError:
            # The end, which the loop may not tell: libuv stops watching a socket that was reset.
            if self._heard is not None:
                asyncio.get_running_loop().call_soon(self._finish)
            return False
        except BlockingIOError:
            return False
        except OSError as error:
            # No memory, or too many descriptors on their way: no reason to take the other for gone.
            _log.warning("a message cannot be sent: %s", error)
            return False
        return True

    def close(self) -> None:
        if self._heard is not None:
            self._heard = None
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()

    def _read(self) -> None:
        try:
            packet, numbers, _, _ = socket.recv_fds(
                self._socket, _LARGEST, 1, socket.MSG_CMSG_CLOEXEC
            )
        except (BlockingIOError, InterruptedError, ConnectionResetError):
            # Reset: the other side left messages unread. What it sent itself comes next, then the end.
            return
        connection = socket.socket(fileno=numbers[0]) if numbers else None
        heard = self._heard
        if packet and heard is not None:
            heard(codec.decode_json(packet).value, connection)
            return
        if connection is not None:
            connection.close()
        self._finish()

    def _finish(self) -> None:
        if self._heard is not None:
            self.close()
            self._ended()
