"""The running server. `composition` puts it together, `lifecycle` starts and stops it in order."""

from quotaapi.server.lifecycle import run

__all__ = ["run"]
