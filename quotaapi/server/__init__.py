"""The running server. `composition` puts it together, `lifecycle` starts and stops it in order.

With several workers a `supervisor` starts that many of these processes and hands connections to them.
"""

from collections.abc import Mapping

from quotaapi.config import Config


def run(config: Config, environ: Mapping[str, str]) -> int:
    """Serve until a signal; the exit code."""
    # Imported here: a supervisor needs little of what a server needs, and would keep its memory.
    from quotaapi.server.handover import received

    handover = received(environ)
    if handover is None and config.workers > 1:
        from quotaapi.server import collection, supervisor

        collection.begin()
        return supervisor.run(config)
    from quotaapi.server import lifecycle

    return lifecycle.run(config, handover)
