"""Group commit: many transactions, one etcd Txn in flight.

*Why.* etcd pays one consensus round and one fsync per Txn, and this process some 0.4 ms of CPU per
request, whatever it carries. While a Txn is in flight the next transactions gather; when it is
answered they go as one. So the load makes the groups: alone, a transaction goes at once.

*What goes together.* `merging.split` takes transactions in order of arrival as far as the limits
allow, and leaves for the next group what writes or differently guards a key of the group. So a
group succeeds exactly where each of its transactions alone would have, and every write of it has
one position in one revision.

*A failed compare.* This copy of the Txn was not applied. Every guard is read, all at one later
revision: who guards a key that moved gets a Conflict with its present value, the others go again,
before newcomers. (The Txn's failure branch could read them at once; but etcd decodes and checks that
branch of every Txn, which costs one that is alone a tenth of its time, and one replica alone never
needs it.)

*A doubled Txn.* A proxy or a library may send a request twice. The second copy of a Txn that was
applied always fails its compares: a value that it replaces has moved, and a group that replaces none
puts the fence (`merging.Group.raises_fence`). So a copy that comes late, after its keys were deleted,
is not applied either. Where the failed compare is the answer that arrives, what is read shows the
group's own id: it was applied. What was read may leave that open (`evidence`): then it is found out as
after a lost answer.

*A lost answer.* The Txn may be applied, may not be, or may be applied later, when a stalled
connection gets through. Guards do not make it safe to send it again: a name that was created and
deleted is absent as before, and whatever is still on its way finds its guards holding. So never are
two sendings applicable:

1. The *fence* is raised, a key of this process that every Txn compares. From that revision on what
   was sent before cannot be applied any more.
2. The events between the last revision known before the sending and the fence are read, and say
   whether it was applied: by the id that is in its values. Present values would not do: another replica may have
   overwritten or deleted them since.
3. If it was applied, that is its outcome. If not, its members go again, before newcomers, with a
   new id and the new fence, as if for the first time.
4. Both steps are tried until the deadline, since etcd may just be starting again. Then, or where
   the events are compacted: OutcomeUnknown.

"Database space exceeded" is a lost answer, too: etcd gives it also to the write that filled it. But
nothing is on its way any more, and no fence can be raised: the written keys are read.

*Overload.* At most `max_waiting` transactions wait; more are refused. Who still waits after
`deadline_seconds`, to be sent or to be sent again, is told Unavailable: nothing was written. A
caller that is cancelled while its transaction waits takes it back; what is sent runs its course.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from apis.meta.transaction import (
    Committed,
    OutcomeUnknown,
    TooLarge,
    Transaction,
    Unavailable,
)
from storage.etcd.attempt import Attempt, Patience
from storage.etcd.fence import Fence
from storage.etcd.merging import OWN_COMPARES, Group, Limits, Waiting, prepare, refuse, split
from storage.etcd.statistics import Counters, Statistics
from storage.etcd.store import EtcdStore


class GroupCommit:
    """Applies transactions to an `EtcdStore`. `run` has to be running for `commit` to end."""

    def __init__(
        self,
        store: EtcdStore,
        *,
        limits: Limits | None = None,
        max_waiting: int = 4096,
        deadline_seconds: float = 10.0,
        attempt_seconds: float = 3.0,
        clock: Callable[[], float] = time.monotonic,
        token: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._store = store
        self._limits = limits or Limits()
        self._max_waiting = max_waiting
        self._patience = Patience(attempt_seconds, deadline_seconds, clock)
        self._token = token
        self._queue: list[Waiting] = []
        self._wake = asyncio.Event()
        self._stopped = False
        self._fence = Fence(store, token())
        self._counters = Counters()

    @property
    def max_operations(self) -> int:
        """Most guards, and most writes, that fit one transaction."""
        return self._limits.writes

    def statistics(self) -> Statistics:
        """Totals since the start, and how many transactions wait."""
        return self._counters.frozen(waiting=len(self._queue))

    async def commit(self, transaction: Transaction) -> Committed:
        """Apply it. Raises Conflict, Unavailable, OutcomeUnknown, TooLarge."""
        if self._stopped:
            raise Unavailable("the server is stopping")
        if len(self._queue) >= self._max_waiting:
            raise Unavailable("too many writes waiting")
        waiting = prepare(
            transaction,
            asyncio.get_running_loop().create_future(),
            prefix=self._store.prefix,
            arrived=self._patience.clock(),
            limits=self._limits,
        )
        self._queue.append(waiting)
        self._wake.set()
        return await waiting.outcome

    async def run(self) -> None:
        """Send what gathers, until cancelled. Then nobody is left waiting: who was not sent gets
        Unavailable, whose answer is outstanding OutcomeUnknown."""
        members: Sequence[Waiting] = ()
        try:
            while True:
                await self._wake.wait()
                self._drop_stale()
                group, self._queue = split(self._queue, self._limits)
                members = group.members
                if members:
                    await self._settle(group)
                members = ()
                if not self._queue:
                    self._wake.clear()
        finally:
            self._stopped = True
            refuse(members, OutcomeUnknown, "the server stopped before etcd answered")
            refuse(self._queue, Unavailable, "the server is stopping")

    async def _settle(self, group: Group) -> None:
        attempt = Attempt(
            self._store,
            group,
            identifier=self._token().encode(),
            fence=self._fence,
            counters=self._counters,
            patience=self._patience,
            meanwhile=self._drop_stale,
        )
        try:
            again = await attempt.settle()
        except TooLarge as error:
            again = self._narrow(group, error)
        # Ahead of newcomers: who lost a round through no fault of its own must not starve.
        self._queue[:0] = again

    def _narrow(self, group: Group, error: TooLarge) -> Sequence[Waiting]:
        """etcd takes less than the limits say: make smaller groups from now on."""
        if len(group.members) == 1:
            refuse(group.members, TooLarge, str(error))
            return ()
        if "operations" in str(error):
            guards = max(len(group.guards) // 2, 1)
            self._limits = replace(self._limits, operations=guards + OWN_COMPARES)
        else:
            self._limits = replace(self._limits, request_bytes=group.size // 2)
        return group.members

    def _drop_stale(self) -> None:
        """Leave out who gave up, and refuse who has waited for too long."""
        oldest = self._patience.clock() - self._patience.deadline_seconds
        fresh = []
        for waiting in self._queue:
            if waiting.outcome.done():
                continue
            if waiting.arrived < oldest:
                waiting.outcome.set_exception(Unavailable("etcd did not take the write in time"))
            else:
                fresh.append(waiting)
        self._queue = fresh
