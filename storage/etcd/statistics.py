"""What group commit counts, for /metrics and for benchmarks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statistics:
    """Totals since the start, and how many wait at this moment."""

    transactions: int
    """etcd Txns sent, each for one group."""
    operations: int
    """Puts and deletes in them."""
    committed: int
    """Transactions applied."""
    conflicts: int
    """Transactions refused since a guard of theirs had moved."""
    failed_compares: int
    """etcd Txns that were not applied since a guard had moved."""
    lost_answers: int
    """etcd Txns of which it had to be found out whether they were applied."""
    waiting: int


@dataclass(slots=True)
class Counters:
    """The running totals behind `Statistics`."""

    transactions: int = 0
    operations: int = 0
    committed: int = 0
    conflicts: int = 0
    failed_compares: int = 0
    lost_answers: int = 0

    def sent(self, operations: int) -> None:
        """Count a group that is about to be sent."""
        self.transactions += 1
        self.operations += operations

    def frozen(self, *, waiting: int) -> Statistics:
        return Statistics(
            transactions=self.transactions,
            operations=self.operations,
            committed=self.committed,
            conflicts=self.conflicts,
            failed_compares=self.failed_compares,
            lost_answers=self.lost_answers,
            waiting=waiting,
        )
