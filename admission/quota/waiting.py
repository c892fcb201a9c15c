"""Those who wait for a decision, in lanes; who may go together, and in which order. No I/O.

The essay on top of `evaluator.py` says why.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from admission.interface import Mandate
from admission.quota.change import Change
from admission.quota.ledger import Needs
from admission.quota.shoots import ShootChange
from apis.meta.transaction import Committed, Snapshot

BATCH_BYTES = 1_000_000
"""Bodies per batch; base64 and the ledgers still fit etcd's 1.5 MiB."""

Lane = frozenset[str]
"""The ledgers that all waiters of a lane want to write."""


@dataclass(slots=True, eq=False)
class Waiter:
    """`seen`: the waiter's own object, as its caller read it under its claim; None for a change of
    ledgers alone."""

    change: Change
    sequence: int
    since: float
    outcome: asyncio.Future[Committed | None]
    seen: Snapshot | None = None
    dry_run: bool = False
    mandate: Mandate | None = None
    needs: Needs = field(default_factory=Needs)
    is_queued: bool = False
    refusal: Exception | None = None

    @property
    def is_shoot(self) -> bool:
        return isinstance(self.change, ShootChange)

    def settle(self, result: Committed | None) -> None:
        if not self.outcome.done():
            self.outcome.set_result(result)

    def fail(self, error: BaseException) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error)


class WaitingRoom:
    """`max_operations`: most guards, and most writes, of one transaction."""

    def __init__(self, max_operations: int) -> None:
        self._max_operations = max_operations
        self._lanes: dict[Lane, deque[Waiter]] = {}
        self._lanes_of: dict[str, set[Lane]] = {}
        """By ledger; exactly those of `_lanes`."""
        self._alone: dict[int, Waiter] = {}

    def __len__(self) -> int:
        return len(self._alone) + sum(len(lane) for lane in self._lanes.values())

    def __bool__(self) -> bool:
        return bool(self._lanes or self._alone)

    def everybody(self) -> list[Waiter]:
        return [*self._alone.values(), *itertools.chain.from_iterable(self._lanes.values())]

    def enter(self, waiter: Waiter) -> None:
        waiter.is_queued = True
        if not waiter.is_shoot:
            self._alone[waiter.sequence] = waiter
            return
        lane = waiter.needs.exclusive
        if lane not in self._lanes:
            self._lanes[lane] = deque()
            for key in lane:
                self._lanes_of.setdefault(key, set()).add(lane)
        self._lanes[lane].append(waiter)

    def leave(self, waiter: Waiter) -> bool:
        """False where the waiter is not here: in a batch, or decided."""
        if not waiter.is_queued:
            return False
        waiter.is_queued = False
        if not waiter.is_shoot:
            del self._alone[waiter.sequence]
            return True
        lane = waiter.needs.exclusive
        self._lanes[lane].remove(waiter)
        if not self._lanes[lane]:
            del self._lanes[lane]
            for key in lane:
                self._lanes_of[key].discard(lane)
                if not self._lanes_of[key]:
                    del self._lanes_of[key]
        return True

    def heads(self) -> list[Waiter]:
        """The oldest waiter of each lane, and all that go alone; oldest first."""
        heads = [*self._alone.values(), *(lane[0] for lane in self._lanes.values())]
        return sorted(heads, key=lambda waiter: waiter.sequence)

    def is_head(self, waiter: Waiter) -> bool:
        """Whether it still is one of `heads`."""
        if not waiter.is_shoot:
            return waiter.sequence in self._alone
        lane = self._lanes.get(waiter.needs.exclusive)
        return lane is not None and lane[0] is waiter

    def connected(self, head: Waiter) -> list[Lane]:
        """The head's lane first, then those that share a ledger with it, directly or through others."""
        own = head.needs.exclusive
        found, seen = [own], {own}
        for lane in found:  # grows meanwhile
            for key in lane:
                joined = self._lanes_of[key] - seen
                seen |= joined
                found.extend(joined)
        return found

    def oldest(self, lanes: Iterable[Lane]) -> list[Waiter]:
        """The oldest waiters of the lanes, as many as one transaction takes; one at least."""
        ordered = sorted(
            itertools.chain.from_iterable(self._lanes[lane] for lane in lanes),
            key=lambda waiter: waiter.sequence,
        )
        chosen: list[Waiter] = []
        keys: set[str] = set()
        size = 0
        for waiter in ordered:
            size += waiter.change.size_bytes
            keys |= waiter.needs.exclusive
            keys |= waiter.needs.shared
            full = len(chosen) + 1 + len(keys) > self._max_operations
            if chosen and (full or size > BATCH_BYTES):
                break
            chosen.append(waiter)
        return chosen
