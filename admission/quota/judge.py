"""One batch, from its claims to an outcome for each of its waiters: steps 1 to 4 of `evaluator.py`."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from admission.interface import Mandate
from admission.quota.books import Books
from admission.quota.ledger import Surroundings
from admission.quota.views import Views
from admission.quota.waiting import BATCH_BYTES, Waiter
from apis.meta import errors
from apis.meta.transaction import (
    Claim,
    Committed,
    Conflict,
    Snapshot,
    TooLarge,
    Transactor,
)

log = logging.getLogger(__name__)

POLITE_SECONDS = 1.0
"""How long a lost race is remembered: long beside a commit, so that taking turns settles in."""
MAX_PAUSE_SECONDS = 0.05
"""Bounds a pause where etcd is slow: the claims are kept meanwhile."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counters since the start. `batches` counts those that were committed or confirmed."""

    batches: int = 0
    admitted: int = 0
    refused: int = 0
    conflicts: int = 0
    expired: int = 0
    waiting: int = 0


@dataclass(slots=True)
class Batch:
    """`keys` are what `claim` holds, `exclusive` those of them that may be written.

    `again` are waiters that have to be planned and queued again.
    """

    waiters: list[Waiter]
    claim: Claim
    keys: frozenset[str]
    exclusive: frozenset[str]
    again: list[Waiter] = field(default_factory=list)


class Judge:
    """Evaluates batches, commits what is allowed, and tells everybody."""

    def __init__(
        self,
        transactor: Transactor,
        around: Surroundings,
        views: Views,
        *,
        timeout_seconds: float,
        retries: int,
        jitter: Callable[[], float],
    ) -> None:
        self._transactor = transactor
        self._around = around
        self._views = views
        self._timeout = timeout_seconds
        self._retries = retries
        self._jitter = jitter
        self._polite_until: dict[str, float] = {}
        self._commit_seconds = 0.005
        self._counts = dict.fromkeys(("batches", "admitted", "refused", "conflicts"), 0)

    def statistics(self) -> Statistics:
        """What the judge knows; who waits and who was too late is the evaluator's."""
        return Statistics(**self._counts)

    async def decide(self, batch: Batch) -> None:
        """Give every waiter its outcome, or leave it in `batch.again`.

        Raises what ends the batch for all that have no outcome yet.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._timeout
        for attempt in itertools.count():
            if attempt > self._retries:
                if clock() > deadline:
                    break
                await asyncio.sleep(self._pause_seconds())
            snapshots = dict(await self._transactor.newest(batch.keys))
            self._set_aside(batch, snapshots)
            if not batch.waiters:
                return
            books, faults = self._evaluate(batch, snapshots)
            if await self._end_faulty(batch, faults, snapshots) and (
                not batch.waiters or await self._conclude(batch, books)
            ):
                return
            await self._hand_back(batch)
        raise errors.timeout(
            f"other replicas kept changing the quota's accounts for {self._timeout:g} seconds; "
            "nothing was stored",
            1,
        )

    async def _conclude(self, batch: Batch, books: Books) -> bool:
        """Whether what was decided stands: it is committed, or confirmed."""
        clock = asyncio.get_running_loop().time
        transaction = books.transaction()
        try:
            if transaction is None:
                if not await self._transactor.confirm(books.evidence):
                    return False
                self._settle(batch, None)
                return True
            started = clock()
            self._settle(batch, await self._transactor.commit(transaction))
        except Conflict as lost:
            self._counts["conflicts"] += 1
            self._be_polite(lost)
            return False
        except TooLarge:
            if len(batch.waiters) == 1:
                raise
            self._spread(batch)
            return True
        self._commit_seconds = clock() - started
        await self._let_others_write(batch)
        return True

    def _pause_seconds(self) -> float:
        return min(self._commit_seconds, MAX_PAUSE_SECONDS) * (1 + self._jitter())

    def _be_polite(self, lost: Conflict) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._polite_until) > 1000:
            self._polite_until = {k: t for k, t in self._polite_until.items() if t > now}
        self._polite_until.update(dict.fromkeys(lost.current, now + POLITE_SECONDS))

    async def _let_others_write(self, batch: Batch) -> None:
        """Keep the claims a moment longer where another replica wants the same ledgers."""
        now = asyncio.get_running_loop().time()
        if any(self._polite_until.get(key, 0.0) > now for key in batch.keys):
            await asyncio.sleep(self._pause_seconds())

    @staticmethod
    def _set_aside(batch: Batch, snapshots: Mapping[str, Snapshot]) -> None:
        """Those who turn out to need keys that the batch has not claimed are planned again."""
        stay = []
        for waiter in batch.waiters:
            needs = waiter.change.needs(snapshots)
            # A quota made anew with the other scope is written where it was only guarded.
            held = needs.exclusive <= batch.exclusive and needs.shared <= batch.keys
            if held and not needs.missing:
                stay.append(waiter)
                continue
            batch.again.append(waiter)
        batch.waiters = stay

    def _evaluate(
        self, batch: Batch, snapshots: dict[str, Snapshot]
    ) -> tuple[Books, dict[Waiter, Exception]]:
        """Apply every change. One that cannot be accounted for is passed over, and the rest starts
        over, since it may have left half an entry; the books do not have it.

        Such a fault is a corrupt ledger, or values of different times: another replica's write is
        known of one key and not yet of another. Only the store can tell.
        """
        snapshots.update((w.seen.key, w.seen) for w in batch.waiters if w.seen is not None)
        faults: dict[Waiter, Exception] = {}
        while True:
            batch.waiters = [waiter for waiter in batch.waiters if not waiter.outcome.done()]
            books = Books(snapshots, self._views, self._around)
            for waiter in batch.waiters:
                if waiter in faults:
                    continue
                waiter.refusal = None
                try:
                    if waiter.mandate is not None:
                        _check_mandate(books, waiter.mandate)
                    waiter.change.apply(books, fold=not waiter.dry_run)
                except errors.StatusError as refusal:
                    waiter.refusal = refusal
                except Exception as fault:  # noqa: BLE001 - a corrupt ledger must not stop others
                    faults[waiter] = fault
                    break
            else:
                return books, faults

    async def _end_faulty(
        self, batch: Batch, faults: Mapping[Waiter, Exception], snapshots: Mapping[str, Snapshot]
    ) -> bool:
        """End those whose fault rests on what is stored; False where it is outdated values' fault."""
        if not faults:
            return True
        seen = {key: snapshot.mod_revision for key, snapshot in snapshots.items()}
        if not await self._transactor.confirm(seen):
            return False
        for waiter, fault in faults.items():
            log.error("cannot account for %s", waiter.change.key, exc_info=fault)
            waiter.fail(fault)
        batch.waiters = [waiter for waiter in batch.waiters if waiter not in faults]
        return True

    def _settle(self, batch: Batch, committed: Committed | None) -> None:
        self._counts["batches"] += 1
        for waiter in batch.waiters:
            if waiter.refusal is not None:
                self._counts["refused"] += 1
                waiter.fail(waiter.refusal)
            else:
                self._counts["admitted"] += not waiter.dry_run
                waiter.settle(None if waiter.dry_run else committed)

    async def _hand_back(self, batch: Batch) -> None:
        """Waiters whose own object is no longer what their caller saw start over."""
        own = await self._transactor.newest(
            [waiter.seen.key for waiter in batch.waiters if waiter.seen is not None]
        )
        stay = []
        for waiter in batch.waiters:
            seen = waiter.seen
            if seen is None or own[seen.key].mod_revision == seen.mod_revision:
                stay.append(waiter)
            else:
                waiter.fail(Conflict({seen.key: own[seen.key]}, 0))
        batch.waiters = stay

    @staticmethod
    def _spread(batch: Batch) -> None:
        """The store takes less than was reckoned: all are queued again, each to go alone."""
        for waiter in batch.waiters:
            waiter.change.size_bytes = BATCH_BYTES + 1
        batch.again.extend(batch.waiters)
        batch.waiters = []


def _check_mandate(books: Books, mandate: Mandate) -> None:
    """The transaction guards the key at what is seen here."""
    record = books.look(mandate.key)
    if record is None or record.mod_revision != mandate.mod_revision:
        raise errors.service_unavailable("this replica does not lead any more", 1)
