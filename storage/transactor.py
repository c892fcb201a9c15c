"""What every writer of this process goes through: claims, the newest values, one commit.

The newest value of a key is the later of the watch cache and the look-aside. Nothing here is
trusted: every decision is sent with its guards, and a guard that fails brings the true values,
which go into the look-aside so that the next evaluation rests on them.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping

from apis.meta.transaction import Committed, Conflict, Record, Snapshot, Transaction, Unavailable
from storage.claims import Claims
from storage.interface import Backend
from storage.lookaside import LookAside
from storage.shared_reads import SharedReads
from storage.versioner import revision_of

LIVE_SECONDS = 30.0
LIVE_BOUND = 10_000
"""Live reads kept at most, while the cache has not synced."""

Commit = Callable[[Transaction], Awaitable[Committed]]


class Transactor(Claims):
    """`apis.meta.transaction.Transactor`; the claims are inherited, for the shortest way to them."""

    def __init__(
        self,
        *,
        backend: Backend,
        commit: Commit,
        lookaside: LookAside,
        cached: Callable[[str], Record | None],
        cached_revision: Callable[[], int],
        synced: Callable[[], bool],
        monotonic: Callable[[], float],
        max_operations: int,
        on_doubt: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_doubt`: called when etcd is found at an older revision than the cache."""
        super().__init__()
        self._on_doubt = on_doubt
        self._commit = commit
        self._lookaside = lookaside
        self._cached = cached
        self._cached_revision = cached_revision
        self._synced = synced
        self._monotonic = monotonic
        self._max_operations = max_operations
        self._reads = SharedReads(backend)
        self._live: dict[str, tuple[float, int, Snapshot]] = {}

    @property
    def max_operations(self) -> int:
        return self._max_operations

    def known(self, key: str) -> Snapshot | None:
        if not self._synced():
            return None
        return self._lookaside.later_than_cache(key) or Snapshot(key, self._cached(key))

    async def newest(self, keys: Collection[str]) -> dict[str, Snapshot]:
        if not self._synced():
            return await self._newest_without_cache(keys)
        later, cached = self._lookaside.later_than_cache, self._cached
        return {key: later(key) or Snapshot(key, cached(key)) for key in keys}

    async def confirm(self, seen: Mapping[str, int]) -> bool:
        known = self._cached_revision()
        revision, snapshots = await self._reads.read(seen)
        if self._synced() and revision < known:
            # A linearizable answer cannot be older than what was known before the question.
            self._on_doubt()
            raise Unavailable("etcd has another history than before: it was restored")
        current = True
        for key, mod_revision in seen.items():
            snapshot = snapshots[key]
            self._lookaside.learn(revision, snapshot)
            current = current and snapshot.mod_revision == mod_revision
        return current

    async def commit(self, transaction: Transaction) -> Committed:
        try:
            committed = await self._commit(transaction)
        except Conflict as conflict:
            for snapshot in conflict.current.values():
                self._live.pop(snapshot.key, None)
                self._lookaside.learn(conflict.revision, snapshot)
            raise
        learn = self._lookaside.learn
        for key, record in committed.records.items():
            learn(committed.revision, Snapshot(key, record))
        for key, version in committed.deleted.items():
            learn(revision_of(version), Snapshot(key, None))
        return committed

    async def _newest_without_cache(self, keys: Collection[str]) -> dict[str, Snapshot]:
        """A live read, kept for `LIVE_SECONDS`, of what nothing is known of."""
        now = self._monotonic()
        found = {key: snapshot for key in keys if (snapshot := self._known_live(key, now))}
        missing = [key for key in keys if key not in found]
        if missing:
            revision, snapshots = await self._reads.read(missing)
            for key in missing:
                self._live.pop(key, None)
                self._live[key] = (now + LIVE_SECONDS, revision, snapshots[key])
                found[key] = self._known_live(key, now) or snapshots[key]
            while len(self._live) > LIVE_BOUND:
                del self._live[next(iter(self._live))]
        return found

    def _known_live(self, key: str, now: float) -> Snapshot | None:
        """The later of the look-aside and the live reads kept."""
        known = self._lookaside.known(key)
        live = self._live.get(key)
        if live is not None and live[0] > now and (known is None or live[1] > known[0]):
            return live[2]
        return known[1] if known is not None else None

    def forget(self) -> None:
        """The revisions may belong to a history that is gone: etcd may have been restored."""
        self._lookaside.clear()
        self._live.clear()
