"""What is asked of kube-apiserver again and again, while it is not answered."""

import logging
from typing import Final

_log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 10.0
"""A server that was unregistered asks for months; one whose kube-apiserver restarts is ready again
so long after it, at the latest."""


class Retry:
    """Pauses that double, and one warning for each new reason: for as long as it goes on failing."""

    def __init__(self, what: str) -> None:
        """`what` is read: the warning's subject."""
        self._what = what
        self._why = ""
        self._pause_seconds = FIRST_PAUSE_SECONDS

    def failed(self, why: str) -> float:
        """Seconds to wait before the next attempt."""
        if why != self._why:
            _log.warning("%s cannot be read, and is tried again: %s", self._what, why)
        self._why = why
        pause_seconds = self._pause_seconds
        self._pause_seconds = min(pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        return pause_seconds

    def worked(self) -> None:
        if self._why:
            _log.info("%s is read again", self._what)
        self._why, self._pause_seconds = "", FIRST_PAUSE_SECONDS
