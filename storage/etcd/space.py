"""Whether etcd refuses writes because its database has reached its quota.

etcd then raises the alarm NOSPACE, refuses every write, of any client, and keeps the alarm until
somebody makes room and disarms it. Reads and watches go on.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from apis.meta.transaction import TransactionError
from storage.etcd.client import Client
from storage.interface import StorageError

WARN_SECONDS: Final = 60.0
"""Between two lines of the log while it lasts."""
_ALARM = "NOSPACE"

_log = logging.getLogger(__name__)


class Space:
    """`full` is what was learned last: from a write that was refused, or from etcd's status."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._warned_at = 0.0
        self.full = False

    def refused(self) -> None:
        """A write was refused for want of space."""
        now = self._clock()
        if not self.full or now - self._warned_at >= WARN_SECONDS:
            self._warned_at = now
            _log.error(
                "etcd's database is full: it refuses every write, and reads go on. Make room: compact it "
                "and defragment each member (etcdctl compact REVISION; etcdctl defrag --cluster), or give it a "
                "larger --quota-backend-bytes; then disarm the alarm (etcdctl alarm disarm)"
            )
        self.full = True

    async def look(self) -> None:
        """Ask an etcd member for its alarms, which costs no proposal. What cannot be asked stays as
        it was."""
        try:
            status = await self._client.ask("/maintenance/status", b"{}")
        except (TransactionError, StorageError) as error:
            _log.debug("etcd's status is not known: %s", error)
            return
        if any(_ALARM in alarm for alarm in status.get("errors", ())):
            self.refused()
        elif self.full:
            self.full = False
            _log.warning("etcd takes writes again: its alarm for want of space is disarmed")
