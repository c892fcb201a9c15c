"""Recounts every ledger from the shoots and bindings, and mends what is wrong.

Nothing should ever be: every write carries its ledgers with it. So a difference is *drift*, which is
counted and logged as an error: somebody has written past the server, or there is a fault in it.

A round reads everything at one revision, page by page, so that others are served in between; what it
keeps are the ledgers and a sum per binding. `admission.quota.recount` says what is compared and why
the repairs are safe. A ledger that was written between the recount and its repair is left alone,
and counted anew a moment later.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from admission.interface import Mandate
from admission.quota.evaluator import Evaluator
from admission.quota.recount import Finding, Kind, Recount, RecountChange
from admission.quota.usage import encode
from apis.meta.keys import GROUP, LEDGERS
from quotaapi.controllers.duty import FAILURES, UNKNOWN, Carry
from quotaapi.registry.heavy import DECODED, breaths
from storage.interface import Backend

_log = logging.getLogger(__name__)

INTERVAL_SECONDS: Final = 300.0
PAGE_KEYS: Final = 50
"""Read, decoded and counted in one go: some two milliseconds."""
BREATH: Final = 50
"""Ledgers compared in one go."""
REST: Final = 3
"""How much longer than a go the rest after it is, so that requests, which need the event loop several
times each, meet no more than a quarter of it taken. A million shoots take four minutes."""
PASSES: Final = 5
"""Recounts in one round, while something is left to mend."""


class Resync:
    """A duty of the leader's. `drift` counts ledgers that were found wrong since the start,
    `repaired` those of them that were mended."""

    def __init__(
        self,
        backend: Backend,
        evaluator: Evaluator,
        *,
        mandate: Callable[[], Mandate],
        carry_out: Carry,
        interval_seconds: float = INTERVAL_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._backend = backend
        self._evaluator = evaluator
        self._mandate = mandate
        self._carry_out = carry_out
        self._interval_seconds = interval_seconds
        self._sleep = sleep
        self.drift = 0
        self.repaired = 0
        self.rounds = 0

    async def run(self) -> None:
        while True:
            try:
                await self.round()
            except (*FAILURES, *UNKNOWN) as error:
                _log.warning("the recount is put off: %s", error)
            await self._sleep(self._interval_seconds)

    async def round(self) -> bool:
        """Whether everything is right at the end. Raises StatusError, TransactionError, StorageError."""
        told: set[str] = set()
        for _ in range(PASSES):
            findings = await self._recount()
            self._tell(findings, told)
            if not findings:
                self.rounds += 1
                return True
            for finding in findings:
                await self._mend(finding)
        self.rounds += 1
        return False

    async def _recount(self) -> Sequence[Finding]:
        clock = asyncio.get_running_loop().time
        recount = Recount(self._evaluator.views)
        revision = await self._backend.current_revision()
        for prefix in (LEDGERS, f"{GROUP}/"):
            start_after, more = "", True
            while more:
                page = await self._backend.range(
                    prefix, start_after=start_after, limit=PAGE_KEYS, revision=revision
                )
                for records in breaths(page.records, DECODED):
                    began = clock()
                    recount.add(records)
                    await asyncio.sleep((clock() - began) * REST)
                more = page.more and bool(page.records)
                start_after = page.records[-1].key if page.records else ""
        found: list[Finding] = []
        began = clock()
        for number, finding in enumerate(recount.findings(), 1):
            if finding is not None:
                found.append(finding)
            if number % BREATH == 0:
                await asyncio.sleep((clock() - began) * REST)
                began = clock()
        return found

    def _tell(self, findings: Sequence[Finding], told: set[str]) -> None:
        """Each ledger is drift once in a round, however often it is counted."""
        for finding in findings:
            if finding.drift and finding.key not in told:
                told.add(finding.key)
                self.drift += 1
                counted = finding.kind in (Kind.BINDING, Kind.REFERENCES)
                count = f"{finding.count} and " if counted else ""
                _log.error(
                    "drift: %s holds %s, and ought to hold %s%s",
                    finding.key, finding.found, count, encode(finding.used),
                )  # fmt: skip

    async def _mend(self, finding: Finding) -> None:
        change = RecountChange(finding)
        try:
            committed = await self._carry_out(
                self._evaluator.carry_out(change, seen=None, mandate=self._mandate())
            )
        except ValueError as error:
            # The books refuse what cannot be: it has been told, and nothing else depends on it.
            _log.error("%s cannot be mended: %s", finding.key, error)
            return
        if committed is None:
            _log.info("%s was written since it was counted, and is counted again", finding.key)
            return
        self.repaired += finding.drift
        _log.log(
            logging.WARNING if finding.drift else logging.DEBUG,
            "%s %s is mended", finding.kind.name.lower(), finding.key,
        )  # fmt: skip
