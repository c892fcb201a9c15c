"""Transactions put together into one etcd Txn. Pure: no I/O, no clock.

What of a transaction's part in the request does not depend on its group is encoded once, when it
arrives; putting a group together joins bytes.
"""

from asyncio import Future
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apis.meta.transaction import (
    POSITIONS,
    Committed,
    Put,
    Record,
    TooLarge,
    Transaction,
    TransactionError,
)
from storage import versioner
from storage.etcd import records, wire

OWN_COMPARES = 3
"""A group's own compares: of the fence, and two of one guard's value (`history`)."""
_COMPARE_BYTES = 40
_WRITE_BYTES = 24
"""What etcd's encoding adds to a guard and to a write, rounded up."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What goes into one etcd Txn. etcd refuses more than its --max-txn-ops and --max-request-bytes."""

    operations: int = 128
    request_bytes: int = 1_400 * 1024

    @property
    def guards(self) -> int:
        return self.operations - OWN_COMPARES

    @property
    def writes(self) -> int:
        """Each write has its position, as has the fence's; the last position is a list's."""
        return min(self.guards, POSITIONS - 2)


@dataclass(slots=True, eq=False)
class Waiting:
    """A transaction on its way, with its part of the request."""

    transaction: Transaction
    outcome: Future[Committed]
    arrived: float
    written: frozenset[str]
    compares: Mapping[str, bytes]
    writes: Sequence[tuple[bytes, bytes | None]]
    """What precedes a put's mark and what follows it; a whole delete and None."""
    replaces: bool
    """Whether it puts a key that exists."""
    size: int
    """Upper bound of the bytes that etcd counts."""


def prepare(
    transaction: Transaction,
    outcome: Future[Committed],
    *,
    prefix: bytes,
    arrived: float,
    limits: Limits,
) -> Waiting:
    """Encode a transaction. Raises TooLarge, and ValueError where the caller broke the contract."""
    guards = transaction.guards
    if len(guards) > limits.guards or len(transaction.writes) > limits.writes:
        raise TooLarge(f"{len(guards)} guards and {len(transaction.writes)} writes")
    written = frozenset([write.key for write in transaction.writes])
    if len(written) != len(transaction.writes):
        raise ValueError("a transaction writes a key twice")
    if not guards:
        raise ValueError("a transaction without guards")
    if not written <= guards.keys():
        raise ValueError(f"written, but not guarded: {sorted(written - guards.keys())}")
    names = {key: wire.b64(prefix + key.encode()) for key in guards}
    size = sum(len(name) + _COMPARE_BYTES for name in names.values())
    writes: list[tuple[bytes, bytes | None]] = []
    for write in transaction.writes:
        name = names[write.key]
        size += len(name) + _WRITE_BYTES
        if isinstance(write, Put):
            rest = records.remainder(write.header, write.body)
            size += records.MARK_BYTES + len(rest)
            writes.append((b'{"request_put":{"key":"%b","value":"' % name, wire.b64(rest)))
        elif not guards[write.key]:
            raise ValueError(f"{write.key} is deleted, but guarded as absent")
        else:
            writes.append((b'{"request_delete_range":{"key":"%b"}}' % name, None))
    return Waiting(
        transaction=transaction,
        outcome=outcome,
        arrived=arrived,
        written=written,
        compares={key: compare(names[key], revision) for key, revision in guards.items()},
        writes=writes,
        replaces=any(isinstance(w, Put) and guards[w.key] for w in transaction.writes),
        size=size,
    )


def compare(name: bytes, revision: int) -> bytes:
    """The compare of a key, given in base64, with the revision at which it was seen."""
    return b'{"key":"%b","target":"MOD","result":"EQUAL","mod_revision":"%d"}' % (name, revision)


def compare_mark(name: bytes, mark: bytes) -> Sequence[bytes]:
    """The compares of a key's value with the mark that it begins with.

    Twice, since etcd compares whole values: what begins with a mark is greater than the mark, and
    less than the mark followed by a byte that no JSON has.
    """
    return [
        b'{"key":"%b","target":"VALUE","result":"%b","value":"%b"}'
        % (name, result, wire.b64(value))
        for result, value in ((b"GREATER", mark), (b"LESS", mark + b"\xff"))
    ]


@dataclass(slots=True, eq=False)
class Group:
    """Transactions that go as one: none writes or differently guards a key of another's."""

    limits: Limits
    members: list[Waiting] = field(default_factory=list)
    guards: dict[str, int] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    compares: dict[str, bytes] = field(default_factory=dict)
    replaces: bool = False
    size: int = 0

    @property
    def raises_fence(self) -> bool:
        """Whether the Txn puts the fence, too, after all other writes.

        A group that replaces a value cannot be applied twice, since the value's revision never
        comes back, and leaves its id there. One that only creates could be applied once more after
        its keys were deleted; one that only deletes leaves no id.
        """
        return bool(self.written) and not self.replaces

    def has_room(self, waiting: Waiting) -> bool:
        """Whether the limits allow one more; an empty group takes what the limits would refuse."""
        return not self.members or (
            len(self.guards) + sum(key not in self.guards for key in waiting.compares)
            <= self.limits.guards
            and len(self.written) + len(waiting.written) <= self.limits.writes
            and self.size + waiting.size <= self.limits.request_bytes
        )

    def is_disturbed_by(self, waiting: Waiting) -> bool:
        """Whether one of the two would fail a guard of, or write the same key as, the other."""
        guards = waiting.transaction.guards
        if not self.written.isdisjoint(guards):
            return True
        common = self.guards.keys() & guards.keys()
        return any(key in waiting.written or self.guards[key] != guards[key] for key in common)

    def add(self, waiting: Waiting) -> None:
        self.members.append(waiting)
        self.guards.update(waiting.transaction.guards)
        self.written.update(waiting.written)
        self.compares.update(waiting.compares)
        self.replaces = self.replaces or waiting.replaces
        self.size += waiting.size

    def request(
        self,
        transaction: bytes,
        *,
        fence_name: bytes,
        fence_revision: int,
        mark_compares: Sequence[bytes] = (),
    ) -> bytes:
        """The Txn's JSON. The fence is compared first, then the guards in `guards`' order.
        `mark_compares`: from `compare_mark`, for the guard that says whose history this is."""
        operations: list[bytes] = []
        for member in self.members:
            for head, rest in member.writes:
                if rest is None:
                    operations.append(head)
                else:
                    mark = wire.b64(records.mark(len(operations), transaction))
                    operations.append(b'%b%b%b"}}' % (head, mark, rest))
        if self.raises_fence:
            value = wire.b64(records.marker(len(operations), transaction))
            operations.append(b'{"request_put":{"key":"%b","value":"%b"}}' % (fence_name, value))
        return b"".join(
            (
                b'{"compare":[',
                b",".join(
                    (compare(fence_name, fence_revision), *mark_compares, *self.compares.values())
                ),
                b'],"success":[',
                b",".join(operations),
                b"]}",
            )
        )

    def committed(self, revision: int) -> Iterable[tuple[Waiting, Committed]]:
        """Each member's outcome, the group having been applied at `revision`."""
        position = 0
        for member in self.members:
            stored: dict[str, Record] = {}
            deleted: dict[str, int] = {}
            for write in member.transaction.writes:
                if isinstance(write, Put):
                    stored[write.key] = Record(
                        write.key, revision, position, write.body, write.header
                    )
                else:
                    deleted[write.key] = versioner.version(revision, position)
                position += 1
            yield member, Committed(revision, stored, deleted)


def split(members: Sequence[Waiting], limits: Limits) -> tuple[Group, list[Waiting]]:
    """The first group of `members`, in order, and who has to wait for the next.

    Nobody overtakes a transaction with which it shares a key.
    """
    group = Group(limits)
    left: list[Waiting] = []
    blocked: set[str] = set()
    for index, waiting in enumerate(members):
        if not group.has_room(waiting):
            left.extend(members[index:])
            break
        guards = waiting.transaction.guards
        if group.is_disturbed_by(waiting) or not blocked.isdisjoint(guards):
            blocked.update(guards)
            left.append(waiting)
        else:
            group.add(waiting)
    return group, left


def refuse(members: Iterable[Waiting], kind: type[TransactionError], why: str) -> None:
    """Give all of `members` that still wait an error of their own."""
    for member in members:
        if not member.outcome.done():
            member.outcome.set_exception(kind(why))
