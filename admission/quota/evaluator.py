"""The last gate before storage: batched admission, and the write that it allows, in one transaction.

Each write arrives as a *waiter*: what it changes, and a result that stays open until somebody
positively decides. Its caller holds the claim of the written object; what is left to claim are the
records on which the decision rests.

**Who waits for whom.** A write that touches no ledger (a status, a label, a profile) needs nothing
besides its own object and is committed at once. Metered writes of shoots queue in *lanes*: one lane
per set of ledgers. The scheduler takes the lane of the oldest waiter together with all lanes that
share a ledger with it, directly or through others, in order of arrival and up to one transaction's
size, and tries to claim everything that they need. It never waits for a claim: what cannot be
claimed stays in its lane, grows, and is looked at again when keys are released. Hence nobody waits
while holding a batch, writers that share no ledger never wait for each other, and a burst is
evaluated in as few batches as there are commits. Changes of bindings and quotas go alone, since
their callers hold claims that shoots want. One that has been waiting for long (`AGED_SECONDS`)
holds back younger shoots that want the same keys; shoots' callers hold nothing that anybody else
waits for, so this cannot close a circle. It also queues for the objects that it needs
(`insistence.py`), for their writers would otherwise hand them on among themselves.

**A batch**, step by step:

1. Read the newest value of every claimed key, once. If a binding names other quotas than when the
   waiter was queued, the waiter is planned and queued again.
2. Apply the changes in order of arrival to the running books (`books.py`). What is refused stays
   refused, whatever happens to the others; a dry run is judged and not entered.
3. Commit the objects and the ledgers, guarded by all that any of the decisions, refusals included,
   has looked at. If nothing is to be written, a linearizable read confirms the refusals instead: a
   refusal must not rest on a value that another replica has already replaced.
4. On a conflict nothing was written. A waiter whose own object moved is handed back to its caller,
   who runs the whole request again on the fresh one. The others are evaluated again on the
   values that were read after the failed compare: `retries` times at once, then at random
   intervals until their time is up (504).

**Other replicas.** Two replicas that write one ledger without pause lose every second race, and one
of them now and then loses several in a row. So a replica that has lost a race for a ledger is
polite for a while (`POLITE_SECONDS`): after each batch it committed it keeps the ledger claimed for
about as long as a commit takes. Requests gather meanwhile, the other's transaction gets through,
and its value arrives by the watch before the next batch is evaluated. The two then take turns.

**Bounds.** `workers` batches at a time. A waiter that is not in a batch after `timeout_seconds` is
withdrawn with a 504; one that is awaits its transaction's outcome, which is bounded by the commit's
own deadline, so that nothing is ever charged behind a client's back. The number of waiters is
bounded by the server's limit of mutating requests in flight.
"""

import asyncio
import itertools
import logging
import random
from collections.abc import Callable
from dataclasses import replace

from admission.interface import Intent, Mandate
from admission.quota.bindings import BindingChange, is_terminating
from admission.quota.books import Books
from admission.quota.change import Change
from admission.quota.insistence import holding, objects_of
from admission.quota.judge import Batch, Judge, Statistics
from admission.quota.ledger import Needs, Surroundings
from admission.quota.plain import PlainChange
from admission.quota.quotas import QuotaChange
from admission.quota.shoots import ShootChange
from admission.quota.views import Views
from admission.quota.waiting import Waiter, WaitingRoom
from apis.garden.v1beta1.bindings import BINDING_PLURALS
from apis.meta import errors
from apis.meta.transaction import (
    Committed,
    OutcomeUnknown,
    Snapshot,
    TooLarge,
    Transactor,
    Unavailable,
)

log = logging.getLogger(__name__)

AGED_SECONDS = 0.25
"""After which a waiter insists: many times what a batch takes, a fraction of the ten seconds."""


class Evaluator:
    """Implements `admission.interface.Gate`. `run` owns all tasks; without it nothing is admitted."""

    def __init__(
        self,
        transactor: Transactor,
        around: Surroundings,
        *,
        workers: int = 5,
        timeout_seconds: float = 10.0,
        retries: int = 3,
        max_object_bytes: int = 1536 * 1024,
        views: Views | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._transactor = transactor
        self._around = around
        self._views = views or Views()
        self._workers = workers
        self._timeout = timeout_seconds
        self._max_object_bytes = max_object_bytes
        self._sequence = itertools.count()
        self._room = WaitingRoom(transactor.max_operations)
        self._tasks: asyncio.TaskGroup | None = None
        self._stopped = asyncio.Event()
        self._running = 0
        self._is_scheduled = False
        self._freed = asyncio.Event()
        self._insisting: dict[int, asyncio.Task[None] | None] = {}
        self._expired = 0
        self._judge = Judge(
            transactor,
            around,
            self._views,
            timeout_seconds=timeout_seconds,
            retries=retries,
            jitter=jitter,
        )
        transactor.on_release(self._wake)

    async def run(self) -> None:
        """Serve until `close`. Batches under way are finished; what still waits is turned away."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                self._wake()
                await self._stopped.wait()
                self._tasks = None
                for task in self._insisting.values():
                    if task is not None:
                        task.cancel()
        finally:
            self._tasks = None
            for waiter in self._room.everybody():
                self._room.leave(waiter)
                waiter.fail(Unavailable("the server is shutting down"))

    def close(self) -> None:
        self._stopped.set()

    def statistics(self) -> Statistics:
        return replace(self._judge.statistics(), expired=self._expired, waiting=len(self._room))

    @property
    def views(self) -> Views:
        """What is decoded already, for those who make changes of their own."""
        return self._views

    async def admit(self, intent: Intent) -> Committed | None:
        """See `Gate.admit`."""
        ends = intent.obj is None or is_terminating(intent.obj)
        if ends and intent.attributes.resource.plural != "shoots":
            # A refusal is to name the users, the latest too.
            await self._around.directory.catch_up()
        seen = Snapshot(intent.key, intent.old)
        change = self._change_of(intent)
        if change.size_bytes > self._max_object_bytes:
            # The store would refuse it, after everybody has waited for it to be priced and sent.
            raise TooLarge(f"an object of {change.size_bytes} bytes")
        waiter = self._waiter(change, seen=seen, mandate=intent.mandate)
        waiter.dry_run = intent.attributes.dry_run
        return await self._decided(waiter)

    async def carry_out(
        self, change: Change, *, seen: Snapshot | None, mandate: Mandate
    ) -> Committed | None:
        """A change that no client asked for, judged and committed among the others.

        `seen` is the object that it writes, claimed by the caller; None where it writes ledgers
        alone. None where there was nothing to write. Raises like `admit`.
        """
        return await self._decided(self._waiter(change, seen=seen, mandate=mandate))

    def _waiter(self, change: Change, *, seen: Snapshot | None, mandate: Mandate | None) -> Waiter:
        loop = asyncio.get_running_loop()
        return Waiter(
            change, next(self._sequence), loop.time(), loop.create_future(), seen, mandate=mandate
        )

    async def _decided(self, waiter: Waiter) -> Committed | None:
        waiter.needs = await self._plan(waiter)
        if waiter.needs.is_empty and waiter.seen is not None:
            return await self._write_alone(waiter, waiter.seen)
        if self._stopped.is_set():
            raise Unavailable("the server is shutting down")
        expiry = asyncio.get_running_loop().call_later(self._timeout, self._expire, waiter)
        self._enqueue(waiter)
        try:
            return await waiter.outcome
        finally:
            expiry.cancel()
            if self._room.leave(waiter):
                self._wake()

    def _change_of(self, intent: Intent) -> Change:
        plural = intent.attributes.resource.plural
        directory = self._around.directory
        if plural == "shoots":
            return ShootChange(intent, self._views)
        if plural == "quotas":
            return QuotaChange(intent, self._views, directory)
        if intent.attributes.resource.kind in BINDING_PLURALS:
            return BindingChange(intent, self._views, directory)
        return PlainChange(intent)

    async def _plan(self, waiter: Waiter) -> Needs:
        known: dict[str, Snapshot] = {}
        needs = waiter.change.needs(known)
        while needs.missing:
            known.update(await self._transactor.newest(needs.missing))
            needs = waiter.change.needs(known)
        if waiter.mandate is not None:
            needs = replace(needs, shared=needs.shared | {waiter.mandate.key})
        return needs

    async def _write_alone(self, waiter: Waiter, seen: Snapshot) -> Committed | None:
        books = Books({seen.key: seen}, self._views, self._around)
        waiter.change.apply(books, fold=not waiter.dry_run)
        transaction = books.transaction()
        return await self._transactor.commit(transaction) if transaction is not None else None

    # -- waiting ---------------------------------------------------------------------------

    def _enqueue(self, waiter: Waiter) -> None:
        self._room.enter(waiter)
        self._wake()

    async def _queue_again(self, waiter: Waiter) -> None:
        try:
            waiter.needs = await self._plan(waiter)
        except Exception as error:  # noqa: BLE001 - it ends its own request, not the server
            waiter.fail(error)
        else:
            self._enqueue(waiter)
            # Its alarm may have gone off while it was in the batch, where it has no effect.
            if asyncio.get_running_loop().time() - waiter.since > self._timeout:
                self._expire(waiter)

    def _expire(self, waiter: Waiter) -> None:
        if self._room.leave(waiter):
            self._wake()
            self._expired += 1
            waiter.fail(
                errors.timeout(
                    f"no admission decision within {self._timeout:g} seconds; nothing was stored", 1
                )
            )

    def _wake(self) -> None:
        self._freed.set()
        if not self._is_scheduled and self._tasks is not None and self._room:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._schedule)

    # -- scheduling ------------------------------------------------------------------------

    def _schedule(self) -> None:
        self._is_scheduled = False
        now = asyncio.get_running_loop().time()
        reserved: set[str] = set()
        for head in self._room.heads():
            if self._running >= self._workers or self._tasks is None:
                return
            if not self._room.is_head(head):
                continue
            if head.is_shoot and reserved and not reserved.isdisjoint(head.needs.keys):
                continue
            batch = self._claim_batch(head)
            if batch is not None:
                self._running += 1
                self._tasks.create_task(self._run_batch(batch))
            elif now - head.since > AGED_SECONDS:
                reserved |= head.needs.keys
                if head.sequence not in self._insisting and objects_of(head.needs.keys):
                    insisting = self._tasks.create_task(self._insist(head))
                    self._insisting[head.sequence] = insisting

    def _claim_batch(self, head: Waiter, held: frozenset[str] = frozenset()) -> Batch | None:
        if not head.is_shoot:
            return self._try([head], held)
        connected = self._room.connected(head)
        batch = self._try(self._room.oldest(connected), held)
        if batch is None and len(connected) > 1:
            batch = self._try(self._room.oldest(connected[:1]), held)
        return batch

    async def _insist(self, head: Waiter) -> None:
        """Queue for the objects that the head needs, then decide its batch while holding them."""
        try:
            needs = head.needs
            async with holding(self._transactor, needs.keys) as held:
                batch = await self._claim_rest(head, needs, held)
                self._insisting[head.sequence] = None  # no longer to be cancelled
                if batch is not None:
                    await self._run_batch(batch)
        finally:
            del self._insisting[head.sequence]

    async def _claim_rest(self, head: Waiter, needs: Needs, held: frozenset[str]) -> Batch | None:
        """None where the head does not wait any more, or for something else."""
        while head.is_queued and head.needs is needs:
            if self._running < self._workers:
                batch = self._claim_batch(head, held) or self._try([head], held)
                if batch is not None:
                    self._running += 1
                    return batch
            self._freed.clear()
            await self._freed.wait()
        return None

    def _try(self, waiters: list[Waiter], held: frozenset[str] = frozenset()) -> Batch | None:
        """`held` is claimed already, and stays so for as long as the batch takes."""
        exclusive: frozenset[str] = frozenset().union(*(w.needs.exclusive for w in waiters))
        shared = frozenset().union(*(w.needs.shared for w in waiters)) - exclusive
        claim = self._transactor.try_claim(exclusive - held, shared - held)
        if claim is None:
            return None
        for waiter in waiters:
            self._room.leave(waiter)
        return Batch(waiters, claim, exclusive | shared, exclusive)

    # -- a batch ---------------------------------------------------------------------------

    async def _run_batch(self, batch: Batch) -> None:
        try:
            await self._judge.decide(batch)
        except (Unavailable, OutcomeUnknown, TooLarge, errors.StatusError) as error:
            self._fail(batch, error)
        except Exception as error:  # a fault of one batch ends its requests, not the server
            log.exception("a batch of %d admissions failed", len(batch.waiters))
            self._fail(batch, error)
        finally:
            self._fail(batch, OutcomeUnknown("the server stopped while the write was under way"))
            batch.claim.release()
            self._running -= 1
            for waiter in batch.again:
                await self._queue_again(waiter)
            self._wake()

    @staticmethod
    def _fail(batch: Batch, error: BaseException) -> None:
        for waiter in batch.waiters:
            waiter.fail(error)
