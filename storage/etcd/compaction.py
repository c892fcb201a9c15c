"""Compaction: etcd forgets revisions that are older than an interval.

Without it the database grows until etcd refuses writes. One replica does it, by a marker key on
which all compare and swap: who has known the marker's revision for an interval and still finds it
unchanged moves it, and compacts to the revision at which it stood, which is then at least an
interval old. The others see it move and begin to wait anew.

The marker lies under the server's prefix. So a live watch has delivered every event up to the
revision to which is compacted, also where other tenants of the etcd make all the revisions.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from apis.meta.keys import INTERNAL
from apis.meta.transaction import Committed, Conflict, Put, Transaction, TransactionError
from storage.etcd.store import EtcdStore
from storage.interface import StorageError

MARKER_KEY = INTERNAL + "compaction"
INTERVAL_SECONDS = 300.0

_log = logging.getLogger(__name__)

Commit = Callable[[Transaction], Awaitable[Committed]]


class Compaction:
    """Owns the rhythm; `run` it for as long as the server runs."""

    def __init__(
        self,
        store: EtcdStore,
        commit: Commit,
        *,
        interval_seconds: float = INTERVAL_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._commit = commit
        self._interval_seconds = interval_seconds
        self._sleep = sleep
        self._known: int | None = None
        """The marker's revision as it was an interval ago; 0 where it was absent."""
        self.compacted_revision = 0
        """To which revision this replica compacted last."""

    async def run(self) -> None:
        """Compact once per interval, until cancelled. Failures are logged and made up for later."""
        while True:
            try:
                await self.round()
            except (TransactionError, StorageError) as error:
                _log.warning("compaction is put off: %s", error)
                self._known = None
            await self._sleep(self._interval_seconds)

    async def round(self) -> None:
        """One look at the marker; to be made once per interval. Raises what storage raises."""
        if self._known is None:
            _, found = await self._store.read([MARKER_KEY])
            self._known = found[MARKER_KEY].mod_revision
            return
        old = self._known
        try:
            committed = await self._commit(Transaction({MARKER_KEY: old}, [Put(MARKER_KEY, b"{}")]))
        except Conflict as conflict:
            self._known = conflict.current[MARKER_KEY].mod_revision
            return
        self._known = committed.revision
        if old:
            await self._store.compact(old)
            self.compacted_revision = old
            _log.info("compacted to revision %d", old)
