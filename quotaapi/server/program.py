"""A process of the server: its log, its signals, its exit code."""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from quotaapi.auth.interface import ClusterAccessError
from quotaapi.auth.tokens import TokenFileError
from quotaapi.config import Config
from storage.etcd.embedded import EmbeddedEtcdError

_log = logging.getLogger(__name__)

Run = Callable[[Coroutine[Any, Any, int]], int]
"""`asyncio.run`, or another loop's."""


def execute(serving: Coroutine[Any, Any, int], run: Run, config: Config, who: str = "") -> int:
    """The exit code. `who`: what the log's lines begin with where several processes share it."""
    handler = logging.StreamHandler()
    handler.setFormatter(_formatter(who))
    logging.basicConfig(level=config.log_level, handlers=[handler])
    code = 1
    try:
        code = run(serving)
    except* (OSError, TokenFileError, ClusterAccessError, EmbeddedEtcdError) as faults:
        # What the operator can mend needs no trace.
        for fault in _flat(faults):
            _log.error("cannot serve: %s", _with_options(str(fault), config))
    # The loop's handlers are gone with it; a second signal must not change how this process ends.
    for signum in _stop_signals():
        signal.signal(signum, signal.SIG_IGN)
    return code


def stop_at_signals(stop: asyncio.Event) -> None:
    """SIGTERM, SIGINT and SIGHUP set it."""
    loop = asyncio.get_running_loop()
    for signum in _stop_signals():
        loop.add_signal_handler(signum, stop.set)


def _with_options(fault: str, config: Config) -> str:
    """Each file that an option named comes with the option."""
    for option, path in config.files:
        fault = fault.replace(str(path), f"{option} {path}", 1)
    return fault


def _stop_signals() -> Sequence[signal.Signals]:
    """SIGHUP is the end of the terminal; under nohup, which has it ignored, it means nothing."""
    signals = (signal.SIGTERM, signal.SIGINT)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return signals
    return (*signals, signal.SIGHUP)


def _formatter(who: str) -> logging.Formatter:
    """Times as RFC 3339 has them, in UTC with milliseconds."""
    formatter = logging.Formatter(f"%(asctime)s {who}%(levelname).1s %(name)s: %(message)s")
    formatter.converter = time.gmtime
    formatter.default_time_format = "%Y-%m-%dT%H:%M:%S"
    formatter.default_msec_format = "%s.%03dZ"
    return formatter


def _flat(group: BaseExceptionGroup[Exception]) -> Sequence[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
