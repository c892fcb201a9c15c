"""What group commit counts, for /metrics and for benchmarks."""

from bisect import bisect_left
from dataclasses import dataclass, field

GROUP_SIZE_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Upper bounds of the buckets of `Statistics.group_sizes`; one more bucket holds the rest."""


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
    group_sizes: tuple[int, ...]
    """Groups by their number of transactions, per bucket of GROUP_SIZE_BOUNDS."""


@dataclass(slots=True)
class Counters:
    """The running totals behind `Statistics`."""

    transactions: int = 0
    operations: int = 0
    committed: int = 0
    conflicts: int = 0
    failed_compares: int = 0
    lost_answers: int = 0
    group_sizes: list[int] = field(default_factory=lambda: [0] * (len(GROUP_SIZE_BOUNDS) + 1))

    def sent(self, members: int, operations: int) -> None:
        """Count a group that is about to be sent."""
        self.transactions += 1
        self.operations += operations
        self.group_sizes[bisect_left(GROUP_SIZE_BOUNDS, members)] += 1

    def frozen(self, *, waiting: int) -> Statistics:
        return Statistics(
            transactions=self.transactions,
            operations=self.operations,
            committed=self.committed,
            conflicts=self.conflicts,
            failed_compares=self.failed_compares,
            lost_answers=self.lost_answers,
            waiting=waiting,
            group_sizes=tuple(self.group_sizes),
        )
