"""Charges shoots again when their CloudProfile's prices have changed.

A changed profile is heard of by a watch; at the start of a term, and then every few minutes, all
shoots are looked at, for what changed while nobody led. A shoot is looked at with its profile's
price list (some 50 microseconds) and written only where its charge or its price list differs.

The writes go through the evaluator like anybody's: some shoots at a time, each claimed, those that
share a ledger in one transaction, the ledgers moved by the difference. Each transaction is exact, so
at every revision each shoot is charged by the old prices or by the new ones, and the sums agree.
No shoot that is made meanwhile can be missed: its admission is guarded by the profile, so that it
has the new prices, or was stored before them and is seen here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from admission.interface import Mandate
from admission.quota.evaluator import Evaluator
from admission.quota.recharges import RechargeChange, recharged
from apis.meta.keys import object_key, resource_prefix
from apis.meta.transaction import (
    Committed,
    Conflict,
    Object,
    Record,
    Snapshot,
    Transactor,
)
from quotaapi.controllers.duty import FAILURES, UNKNOWN, Carry
from quotaapi.registry.heavy import DECODED, Breath, breaths
from storage.interface import Facts, ListOptions, Reader

_log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 300.0
RETRY_SECONDS: Final = 5.0
AT_ONCE: Final = Breath(64, 256 * 1024)
"""Shoots that are charged anew at the same time: about a transaction's worth, and no client waits
for more than these."""
ATTEMPTS: Final = 5

PROFILES: Final = resource_prefix("cloudprofiles")
SHOOTS: Final = resource_prefix("shoots")


class Recharge:
    """A duty of the leader's. `recharged` counts shoots since the start."""

    def __init__(
        self,
        reader: Reader,
        transactor: Transactor,
        evaluator: Evaluator,
        *,
        mandate: Callable[[], Mandate],
        carry_out: Carry,
        sweep_seconds: float = SWEEP_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._reader = reader
        self._transactor = transactor
        self._evaluator = evaluator
        self._mandate = mandate
        self._carry_out = carry_out
        self._sweep_seconds = sweep_seconds
        self._sleep = sleep
        self.recharged = 0

    async def run(self) -> None:
        """Follow the profiles; whatever ends that, and the passing of time, leads to a sweep."""
        while True:
            try:
                async with self._reader.watch(PROFILES, 0, None) as profiles:
                    await self.sweep(None)
                    async with asyncio.timeout(self._sweep_seconds):
                        while True:
                            events = await profiles.next(self._sweep_seconds)
                            changed = {event.record.key.rpartition("/")[2] for event in events}
                            if changed:
                                await self.sweep(changed)
            except TimeoutError:
                continue
            except (*FAILURES, *UNKNOWN) as error:
                _log.warning("charging by new prices is put off: %s", error)
                await self._sleep(RETRY_SECONDS)

    async def sweep(self, profiles: set[str] | None) -> None:
        """Charge anew the shoots of these profiles, or all, as far as it is needed.

        Raises StatusError, TransactionError, StorageError.
        """

        def concerned(facts: Facts) -> bool:
            return profiles is None or not profiles.isdisjoint(facts.indexes.get("profile", ()))

        # What the cache has will do: it has what the event that led here is about.
        options = ListOptions(resource_version=0, predicate=concerned)
        page = await self._reader.list(SHOOTS, options)
        due: list[Record] = []
        for some in breaths(page.records, DECODED):
            due += await self._due(some)
            await asyncio.sleep(0)
        for some in breaths(due, AT_ONCE):
            await self._charge([record.key for record in some])

    async def _due(self, records: Sequence[Record]) -> list[Record]:
        """The shoots whose charge or prices are not their profile's present ones."""
        shoots = [(record, record.object()) for record in records]
        profiles = await self._transactor.newest({_profile_of(obj) for _, obj in shoots})
        return [
            record
            for record, obj in shoots
            if recharged(record, obj, profiles[_profile_of(obj)].record) is not None
        ]

    async def _charge(self, keys: Sequence[str]) -> None:
        outcomes = await asyncio.gather(
            *(self._carry_out(self._charge_one(key)) for key in keys), return_exceptions=True
        )
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        self.recharged += sum(isinstance(outcome, Committed) for outcome in outcomes)
        for failure in failures:
            # A ledger that is wrong refuses its own shoots only, until the recount has mended it.
            if not isinstance(failure, ValueError):
                raise failure
            _log.error("a shoot is not charged anew: %s", failure)

    async def _charge_one(self, key: str) -> Committed | None:
        async with self._transactor.claim_object(key):
            for _ in range(ATTEMPTS):
                record = (await self._transactor.newest((key,)))[key].record
                if record is None:
                    return None
                change = RechargeChange(record, self._evaluator.views)
                try:
                    return await self._evaluator.carry_out(
                        change, seen=Snapshot(key, record), mandate=self._mandate()
                    )
                except Conflict:
                    continue
        return None


def _profile_of(shoot: Object) -> str:
    return object_key("cloudprofiles", "", shoot["spec"]["cloud"]["profile"])
