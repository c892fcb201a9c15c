"""Ports of loopback, for servers that are about to start."""

import socket
import weakref


def free_port() -> int:
    """One that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def reserved_port(owner: object) -> int:
    """One that nobody else gets while `owner` lives, not even as the near end of a connection: a server
    finds it again when it is started again. Servers bind it with SO_REUSEADDR."""
    holder = bound()
    weakref.finalize(owner, holder.close)
    port: int = holder.getsockname()[1]
    return port


def bound(port: int = 0) -> socket.socket:
    """A socket that takes the port (0: any) and to which connections are refused until it listens."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", port))
    return holder
