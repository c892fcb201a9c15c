"""Claims: which keys the writers of this process are working on.

etcd's compare decides between replicas. Inside one process a failed compare would be
self-inflicted, so a writer claims what it will guard or write before it looks at the values:
exclusively what it writes, shared what it only guards.

There are two ways to claim, and they differ on purpose.

* `hold` (`Claims.claim_object`): one key, exclusively, by whoever wants to change that object.
  Waits in arrival order.
* `try_claim`: many keys at once, by a batch of admissions. Never waits: all or nothing.

Why nobody waits for ever
    Kinds are ordered shoot < binding < profile < quota < ledger. Who holds an object by `hold`
    may afterwards `hold` or `try_claim` keys of higher order and nothing else, and `try_claim`
    does not wait. So the only waiters are those in `hold`, each of whom holds keys of lower order
    alone: a cycle of waiters cannot form. A batch that is refused releases nothing it needs and
    holds nothing of it; it is tried again when keys become free (`on_release`).

Why nobody starves
    A key with a `hold` waiter is closed to `try_claim`, so the claims on it run out, and the
    first waiter gets the key directly from the hand that releases it: no later comer can slip
    between. Batches among themselves are kept fair by their scheduler, not here; one that has
    been kept waiting by those who `hold` an object without pause queues for it like them.

Cancellation
    A waiter cancelled before it was served is taken out of the queue. One cancelled after it was
    served, before it could run, gives the key to the next. Either way nothing stays claimed.

`ClaimTable` is the rule, without asyncio; `Claims` adds futures and the call-backs.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Generic, TypeVar

Ticket = TypeVar("Ticket")


class ClaimTable(Generic[Ticket]):
    """Who has what. Tickets stand for waiters; they are compared by identity or equality only.

    Invariants: no key is both exclusive and shared; a key with waiters is claimed; share counts
    are positive and queues are not empty.
    """

    __slots__ = ("_exclusive", "_shared", "_waiting")

    def __init__(self) -> None:
        self._exclusive: set[str] = set()
        self._shared: dict[str, int] = {}
        self._waiting: dict[str, deque[Ticket]] = {}

    def hold(self, key: str) -> bool:
        """Take `key` exclusively if nobody has it."""
        if key in self._exclusive or key in self._shared:
            return False
        self._exclusive.add(key)
        return True

    def wait(self, key: str, ticket: Ticket) -> None:
        """Queue for a key that `hold` refused."""
        self._waiting.setdefault(key, deque()).append(ticket)

    def withdraw(self, key: str, ticket: Ticket) -> bool:
        """Leave the queue, if still in it. True where that opened the key to `try_claim`."""
        queue = self._waiting.get(key)
        if queue is None or ticket not in queue:
            return False
        queue.remove(ticket)
        if queue:
            return False
        del self._waiting[key]
        return key in self._shared

    def try_claim(self, exclusive: Collection[str], shared: Collection[str]) -> bool:
        """All or nothing. The two collections are disjoint and name no key twice."""
        held, shares, waiting = self._exclusive, self._shared, self._waiting
        for key in exclusive:
            if key in held or key in shares or key in waiting:
                return False
        for key in shared:
            if key in held or key in waiting:
                return False
        held.update(exclusive)
        for key in shared:
            shares[key] = shares.get(key, 0) + 1
        return True

    def release(
        self, exclusive: Collection[str], shared: Collection[str]
    ) -> list[tuple[str, Ticket]]:
        """Give keys back. Answers who has been served by that: each ticket now holds its key."""
        served: list[tuple[str, Ticket]] = []
        for key in exclusive:
            if key in self._waiting:
                served.append((key, self._next(key)))
            else:
                self._exclusive.remove(key)
        for key in shared:
            left = self._shared[key] - 1
            if left:
                self._shared[key] = left
                continue
            del self._shared[key]
            if key in self._waiting:
                self._exclusive.add(key)
                served.append((key, self._next(key)))
        return served

    def _next(self, key: str) -> Ticket:
        queue = self._waiting[key]
        ticket = queue.popleft()
        if not queue:
            del self._waiting[key]
        return ticket

    def statistics(self) -> dict[str, int]:
        """Numbers of keys held exclusively and shared, and of waiters."""
        return {
            "exclusive": len(self._exclusive),
            "shared": len(self._shared),
            "waiting": sum(len(queue) for queue in self._waiting.values()),
        }


Waiter = asyncio.Future[None]


class KeysClaim:
    """The `apis.meta.transaction.Claim` that `Claims.try_claim` hands out."""

    __slots__ = ("_claims", "_exclusive", "_shared")

    def __init__(
        self, claims: "Claims", exclusive: Collection[str], shared: Collection[str]
    ) -> None:
        self._claims: Claims | None = claims
        self._exclusive = exclusive
        self._shared = shared

    def release(self) -> None:
        claims, self._claims = self._claims, None
        if claims is not None:
            claims.release(self._exclusive, self._shared)


class _ObjectClaim:
    """`async with` over one key. A class, not a generator: it is on the path of every write."""

    __slots__ = ("_claims", "_key")

    def __init__(self, claims: "Claims", key: str) -> None:
        self._claims = claims
        self._key = key

    async def __aenter__(self) -> None:
        if not self._claims.table.hold(self._key):
            await self._claims.wait(self._key)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._claims.release((self._key,), ())


class Claims:
    """The claims of one event loop; the methods are `apis.meta.transaction.Transactor`'s."""

    def __init__(self) -> None:
        self.table: ClaimTable[Waiter] = ClaimTable()
        self._listeners: list[Callable[[], None]] = []
        self._announced = False

    def claim_object(self, key: str) -> _ObjectClaim:
        return _ObjectClaim(self, key)

    def try_claim(self, exclusive: Collection[str], shared: Collection[str]) -> KeysClaim | None:
        """As the Protocol says; a key named in both is claimed exclusively."""
        exclusive = frozenset(exclusive)
        shared = frozenset(shared) - exclusive
        if not self.table.try_claim(exclusive, shared):
            return None
        return KeysClaim(self, exclusive, shared)

    def on_release(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    async def wait(self, key: str) -> None:
        """Queue for `key` and return holding it."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self.table.wait(key, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release((key,), ())
            elif self.table.withdraw(key, waiter):
                self._announce()
            raise

    def release(self, exclusive: Collection[str], shared: Collection[str]) -> None:
        served = self.table.release(exclusive, shared)
        while served:
            key, waiter = served.pop()
            if waiter.cancelled():
                # Its task has not run yet to withdraw, and will find itself out of the queue.
                served += self.table.release((key,), ())
            else:
                waiter.set_result(None)
        self._announce()

    def _announce(self) -> None:
        """Call the listeners once in this turn of the loop, however many keys became free."""
        if self._listeners and not self._announced:
            self._announced = True
            asyncio.get_running_loop().call_soon(self._call_listeners)

    def _call_listeners(self) -> None:
        self._announced = False
        for listener in self._listeners:
            listener()
