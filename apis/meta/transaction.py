"""The values of which every write is made: records, guards, transactions and their outcomes.

An admission decision and the write that it allows are one transaction: its guards are
everything that the decision relied on, its writes are the objects and the ledgers together.
These types are the whole vocabulary that `admission` (which decides) and `storage` (which
commits) share; that is why they live here, below both.

Keys are relative to the server's etcd prefix and are built by `apis.meta.keys` alone.
A *revision* is etcd's; a *resourceVersion* is `revision * 1000 + position`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Any, Protocol

import orjson

from apis.meta.values import valueclass

Object = dict[str, Any]
"""A decoded API object: plain JSON."""

POSITIONS = 1000
"""Versions per etcd revision; a transaction therefore has fewer than this many writes."""

Charge = Mapping[str, str]
"""Metric name -> canonical quantity. What a record accounts for, over all metrics."""


@valueclass
class Header:
    """What is stored beside an object and is no part of the API object.

    `charge`: for a metered object what it was charged, for a quota or a ledger the exact sum.
    `count`: for a ledger the number of objects that it counts.
    `prices`: for a metered object the price list under which it was admitted, so that it can
    be charged again when its profile no longer lists a type.
    """

    charge: Charge | None = None
    count: int | None = None
    prices: Mapping[str, Any] | None = None


NO_HEADER = Header()


@valueclass
class Record:
    """One key's value at one revision. Immutable; shared freely between tasks.

    `body` is the object's JSON without `resourceVersion`, serialised with `metadata` directly
    after `apiVersion` and `kind` (see `encode_body`), so that the version can be spliced in
    without decoding. A hidden ledger has the body `{}`.
    """

    key: str
    mod_revision: int
    position: int
    body: bytes
    header: Header = NO_HEADER

    @property
    def resource_version(self) -> int:
        return self.mod_revision * POSITIONS + self.position

    def object(self) -> Object:
        """A fresh, mutable copy of the object, its resourceVersion filled in."""
        decoded: Object = orjson.loads(self.body)
        metadata = decoded.get("metadata")
        if metadata is not None:
            metadata["resourceVersion"] = str(self.resource_version)
        return decoded

    def json(self) -> bytes:
        """The object's JSON with its resourceVersion, without decoding it."""
        return splice_version(self.body, self.resource_version)

    def json_parts(self) -> tuple[bytes, memoryview]:
        """`json()` in two parts, of which the second is the body's own bytes."""
        at = self.body.index(_METADATA) + len(_METADATA)
        head = b'%b"resourceVersion":"%d",' % (self.body[:at], self.resource_version)
        return head, memoryview(self.body)[at:]

    @property
    def json_bytes(self) -> int:
        """The length of `json()`."""
        return len(self.body) + _VERSION_BYTES + len(str(self.resource_version))


_METADATA = b'"metadata":{'
_VERSION_BYTES = len(b'"resourceVersion":"",')


def splice_version(body: bytes, resource_version: int) -> bytes:
    """`body` with `metadata.resourceVersion` filled in; `body` comes from `encode_body`."""
    at = body.index(_METADATA) + len(_METADATA)
    return b'%b"resourceVersion":"%d",%b' % (body[:at], resource_version, body[at:])


def encode_body(obj: Object) -> bytes:
    """Serialise an object as a record's body: apiVersion, kind, metadata first, no version.

    `metadata` must not be empty (a stored object has a name at least).
    """
    metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    ordered = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
    ordered.update((k, v) for k, v in obj.items() if k not in ordered)
    return orjson.dumps(ordered)


@valueclass
class Put:
    """Store `body` (from `encode_body`) and `header` under `key`."""

    key: str
    body: bytes
    header: Header = NO_HEADER


@valueclass
class Delete:
    """Remove `key`. It must be guarded at a revision at which it exists: a delete of an absent
    key makes no etcd event, and positions are counted by events."""

    key: str


Write = Put | Delete


@valueclass
class Transaction:
    """All or nothing. `guards`: key -> mod_revision, 0 for "must not exist".

    Every key that is written must be guarded: nothing is replaced that the decision has not seen.
    No key is written twice. Guards alone do not keep a transaction from being applied twice, since
    what was absent can be absent again; `storage.etcd.group_commit` sees to that.
    """

    guards: Mapping[str, int]
    writes: Sequence[Write]


@valueclass
class Snapshot:
    """A key as it was seen: `record` is None for an absent key, `mod_revision` then 0."""

    key: str
    record: Record | None

    @property
    def mod_revision(self) -> int:
        return self.record.mod_revision if self.record is not None else 0


@valueclass
class Committed:
    """The outcome of a transaction that was applied at `revision`.

    `records` holds every Put's key as stored; `deleted` every Delete's key with the
    resourceVersion of its event.
    """

    revision: int
    records: Mapping[str, Record]
    deleted: Mapping[str, int] = field(default_factory=dict)


class TransactionError(Exception):
    """A transaction, or a read of its guards, that did not succeed."""


class Conflict(TransactionError):
    """A guard did not hold; nothing was written.

    `current` has the guards that moved, as all of them are at `revision`; 0 where that is not known.
    """

    def __init__(self, current: Mapping[str, Snapshot], revision: int) -> None:
        super().__init__(f"guards moved: {', '.join(sorted(current))}")
        self.current = current
        self.revision = revision


class Unavailable(TransactionError):
    """The store cannot be reached; nothing was written."""


class NoSpace(Unavailable):
    """The store has no room left and takes no writes; nothing was written."""


class OutcomeUnknown(TransactionError):
    """The answer was lost and could not be found out in time: it may or may not be applied."""


class TooLarge(TransactionError):
    """The transaction exceeds what the store takes in one piece."""


class Claim(Protocol):
    """Keys that this process will not let another of its writers touch until they are released."""

    def release(self) -> None:
        """Give the keys back. Calling it again does nothing."""
        ...


class Transactor(Protocol):
    """What every writer of this process goes through; implemented by `storage.transactor`.

    A writer claims its own object (`claim_object`), looks at the newest values, decides, and
    commits. A batch of admissions claims what its decisions rest on besides (`try_claim`).
    The order shoot < binding < quota < ledger keeps the two steps free of deadlock: who holds
    an object only ever wants keys of higher order, and nobody waits while holding a batch.
    """

    def claim_object(self, key: str) -> AbstractAsyncContextManager[None]:
        """Hold `key` exclusively until the block ends; first come, first served.

        Cancelled while waiting: nothing is held. While somebody waits here, `try_claim` of the
        same key by a later comer fails, so that a busy quota can still be edited.
        """
        ...

    def try_claim(self, exclusive: Collection[str], shared: Collection[str]) -> Claim | None:
        """All of the keys at once, or None where one of them is claimed or awaited. Never waits.

        Shared claims of one key exclude exclusive ones only.
        """
        ...

    def on_release(self, listener: Callable[[], None]) -> None:
        """Call `listener` (once per turn of the event loop at most) after keys became free."""
        ...

    def known(self, key: str) -> Snapshot | None:
        """The newest value of `key` that this process knows; None where only etcd can tell."""
        ...

    async def newest(self, keys: Collection[str]) -> dict[str, Snapshot]:
        """What is `known` of keys, or else what etcd has: it is asked only where it has to be.

        They may be stale; a transaction's guards find that out. Raises Unavailable.
        """
        ...

    async def confirm(self, seen: Mapping[str, int]) -> bool:
        """Ask etcd (linearizable) whether all of `seen` (key -> mod_revision) are still current.

        A refusal must rest on evidence as good as a transaction's: confirm before refusing, and
        on False evaluate again (`newest` then answers with what was just read). Raises Unavailable.
        """
        ...

    async def commit(self, transaction: Transaction) -> Committed:
        """Apply it. Raises Conflict, Unavailable, OutcomeUnknown, TooLarge.

        Not to be cancelled half-way: the caller runs in a task that a client's disconnect does
        not cancel. After a Conflict `newest` answers with what it was raised with, or later.
        """
        ...

    @property
    def max_operations(self) -> int:
        """Most guards, and most writes, that fit one transaction."""
        ...
