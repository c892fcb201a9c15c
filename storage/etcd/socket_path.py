"""An etcd behind a unix socket: `unix:///path` among the endpoints."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

UNIX: Final = "unix://"


class SocketPath:
    """`path` names the socket until `close`, however long its directory's own path is.

    The kernel takes 107 bytes for a socket's path, which a data directory may exceed: so the
    directory is named by a descriptor that is held open.
    """

    def __init__(self, socket: Path) -> None:
        """Raises OSError where the directory cannot be opened."""
        self._directory = os.open(socket.parent, os.O_PATH | os.O_DIRECTORY)
        self.path = f"/proc/self/fd/{self._directory}/{socket.name}"

    def close(self) -> None:
        """May be repeated."""
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1


def socket_of(endpoints: Sequence[str]) -> SocketPath | None:
    """None where the endpoints are URLs. Raises ValueError for a socket beside other endpoints, OSError."""
    sockets = [url for url in endpoints if url.startswith(UNIX)]
    if not sockets:
        return None
    if len(endpoints) > 1:
        raise ValueError("a socket of etcd is its only endpoint")
    return SocketPath(Path(sockets[0].removeprefix(UNIX)))
