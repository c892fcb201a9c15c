"""A process of the server: its log, its signals, its exit code."""

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from quotaapi.auth.interface import ClusterAccessError
from quotaapi.auth.tokens import TokenFileError
from storage.etcd.embedded import EmbeddedEtcdError

_log = logging.getLogger(__name__)

Run = Callable[[Coroutine[Any, Any, int]], int]
"""`asyncio.run`, or another loop's."""


def execute(serving: Coroutine[Any, Any, int], run: Run, *, log_level: str, who: str = "") -> int:
    """The exit code. `who`: what the log's lines begin with where several processes share it."""
    logging.basicConfig(
        level=log_level, format=f"%(asctime)s {who}%(levelname).1s %(name)s: %(message)s"
    )
    code = 1
    try:
        code = run(serving)
    except* (OSError, TokenFileError, ClusterAccessError, EmbeddedEtcdError) as faults:
        # What the operator can mend needs no trace.
        for fault in _flat(faults):
            _log.error("cannot serve: %s", fault)
    # The loop's handlers are gone with it; a second signal must not change how this process ends.
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_IGN)
    return code


def stop_at_signals(stop: asyncio.Event) -> None:
    """SIGTERM and SIGINT set it."""
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)


def _flat(group: BaseExceptionGroup[Exception]) -> Sequence[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
