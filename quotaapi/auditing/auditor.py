"""Promise 1, checked: at every revision each ledger equals the sum of what it counts.

An auditor is fed what etcd holds at one revision, then the changes of each later one. It keeps
sums of its own and after each revision compares with them every ledger that the revision could
have moved: the work is in proportion to the changes, however much is stored. It shares with
admission the names of metrics and the arithmetic of quantities, and none of its accounting.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apis.meta.transaction import Record
from quotaapi.auditing.accounts import Accounts
from quotaapi.auditing.checks import Findings, check, check_growth
from quotaapi.auditing.values import Change, Violation


@dataclass(slots=True)
class Statistics:
    """`checks`: accounts compared, each once per revision that could have moved it."""

    revisions: int = 0
    changes: int = 0
    checks: int = 0
    violations: int = 0


class Auditor:
    """Feed it with `load` once, then `apply` revision by revision; both answer what is wrong.

    `growth`: also report a revision that raised a usage to more than its limit, new prices apart.
    """

    def __init__(self, *, growth: bool = False) -> None:
        self.statistics = Statistics()
        self.accounts = Accounts()
        self.versions: dict[str, int] = {}
        """Key -> mod_revision of everything that exists."""
        self._growth = growth

    def load(self, revision: int, records: Iterable[Record]) -> list[Violation]:
        """What exists at `revision`; everything is checked once."""
        return self._step(revision, ((r.key, r) for r in records), growth=False)

    def apply(self, revision: int, changes: Sequence[Change]) -> list[Violation]:
        """The changes of one revision, all of them; what they could have moved is checked."""
        return self._step(revision, changes, growth=self._growth)

    def _step(self, revision: int, changes: Iterable[Change], *, growth: bool) -> list[Violation]:
        for key, record in changes:
            self.statistics.changes += 1
            self.accounts.change(key, record)
            if record is None:
                self.versions.pop(key, None)
            else:
                self.versions[key] = record.mod_revision
        touched = self.accounts.take_touched()
        findings = Findings(revision)
        check(self.accounts, touched, findings)
        if growth:
            check_growth(self.accounts, touched, findings)
        self.statistics.revisions += 1
        self.statistics.checks += findings.checks
        self.statistics.violations += len(findings.violations)
        return findings.violations
