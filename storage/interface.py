"""What storage offers to those above it: reads, lists and watches of records.

Writes go through `apis.meta.transaction.Transactor`, which `storage.transactor` implements.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Hashable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from apis.meta.transaction import Object, Record, Snapshot, Unavailable
from apis.meta.values import valueclass


@valueclass
class Facts:
    """What the cache keeps decoded of an object, so that selectors and indexes need no decoding."""

    labels: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Extract = Callable[[str, Object], Facts]
"""(key, object) -> its facts. Total: never raises for an object that was stored."""

Predicate = Callable[[Facts], bool]
"""A label and field selector, compiled."""


@dataclass(slots=True)
class Event:
    """One change of one key, as watchers of the whole prefix see it.

    `record` is the new value; for a removal the last value, with the version of the removal.
    `previous` has the facts before the change (None for a new key), `facts` those after it (None
    for a removal): a watcher with a selector derives ADDED, MODIFIED or DELETED from both.
    `before` is the value before the change, None for a new key: a watcher whose selection the
    object leaves is shown it as it was in it.
    `encoded` keeps a line's bytes per representation, so that many watchers share one encoding.
    """

    record: Record
    facts: Facts | None
    previous: Facts | None
    encoded: dict[tuple[str, str], bytes] = field(default_factory=dict)
    before: Record | None = None

    @property
    def resource_version(self) -> int:
        return self.record.resource_version


@valueclass
class ListOptions:
    """`resource_version`: None = consistent ("" on the wire), 0 = whatever the cache has, else per `match`.

    `match`: "" or "NotOlderThan" or "Exact". `limit` 0 = all. `continue_token` is opaque.
    """

    resource_version: int | None = None
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    predicate: Predicate | None = None


@dataclass(slots=True, weakref_slot=True)
class Page:
    """Records in key order; `continue_token` "" at the end; `remaining` None where unknown.

    Lists of one version may be answered with one page. `encoded` keeps what was made of it, by
    representation, so that they share it; it must not refer to the page.
    """

    records: Sequence[Record]
    resource_version: int
    continue_token: str = ""
    remaining: int | None = None
    encoded: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


class StorageError(Exception):
    """A read that could not be served."""


class Expired(StorageError):
    """The version is compacted, or of another history: 410. Only for versions really gone."""


class UnreadableRecord(StorageError, Unavailable):
    """A stored value that this release of the server does not understand. To who wants to write,
    that is a store that cannot be reached: nothing was written."""


class TooLargeResourceVersion(StorageError):
    """The version lies in the future: 504 with retry. `requested` and `current` are versions."""

    def __init__(self, requested: int, current: int) -> None:
        super().__init__(f"Too large resource version: {requested}, current: {current}")
        self.requested = requested
        self.current = current


class BadContinueToken(StorageError):
    """The continue token was not made by this server."""


class SlowWatcher(StorageError):
    """The watcher's queue overflowed: it is closed and has to resume."""


class Outlet(Protocol):
    """A watcher's connection, for those who write to many of them at once."""

    @property
    def ready(self) -> bool:
        """Whether it takes bytes without piling them up."""
        ...

    def write(self, data: bytes) -> None:
        """Never waits, never raises: what is wrong with the connection, the watch's task finds."""
        ...


Encode = Callable[[Sequence[Event]], bytes]
"""Events as an outlet writes them, framing included. Where it raises, they are handed out instead."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a watcher's events are written. Watchers of one prefix with equal predicates and equal
    `form` are sent the same bytes, which any of their `encode` makes."""

    outlet: Outlet
    form: Hashable
    encode: Encode


class Subscription(Protocol):
    """A running watch. Events come in version order, each exactly once."""

    def deliver(self, delivery: Delivery) -> None:
        """While `next` waits, events may from now on be written to the outlet instead of being
        handed out: a watch of many then costs no task that is woken for each. Nothing is written
        while `next` does not wait. A subscription may also go on handing out."""
        ...

    async def next(self, timeout_seconds: float) -> Sequence[Event]:
        """The next events, at least one; empty when the time is up.

        Raises SlowWatcher, Expired (what would come next is compacted, or of another history of
        etcd), Unavailable.
        """
        ...

    @property
    def progress(self) -> int:
        """A version up to which every matching event was handed out by `next`: a bookmark's."""
        ...


class Reader(Protocol):
    """Gets, lists and watches, served from the watch cache where that is right."""

    async def get(self, key: str, *, resource_version: int | None = None) -> Record | None:
        """None = consistent, 0 = whatever the cache has, n = not older than n.

        Raises TooLargeResourceVersion, Unavailable.
        """
        ...

    async def list(self, prefix: str, options: ListOptions) -> Page:
        """Raises Expired, TooLargeResourceVersion, BadContinueToken, Unavailable."""
        ...

    def watch(
        self, prefix: str, since: int, predicate: Predicate | None
    ) -> AbstractAsyncContextManager[Subscription]:
        """Every event after version `since` (0: only what comes from now on is promised).

        Raises on entry: TooLargeResourceVersion, Unavailable. That the version is compacted, `next`
        tells. Leaving the block frees all.
        """
        ...

    def cached(self, prefix: str, *, not_older_than: int = 0) -> Sequence[Record] | None:
        """What the cache has under a prefix, in key order, at once; None where it is not filled, or
        not as new as the version `not_older_than`."""
        ...

    def by_index(
        self, resource: str, index: str, value: str, *, limit: int = 0
    ) -> Sequence[Record]:
        """What the cache has under an index, in key order; with a `limit`, so many of them.

        For messages and audits, never for decisions.
        """
        ...

    async def current_version(self) -> int:
        """A consistent resourceVersion (`revision * 1000 + 999`), the cache being at least as new."""
        ...

    @property
    def synced(self) -> bool:
        """Whether the cache holds everything up to some revision."""
        ...


@valueclass
class RawPage:
    """A range read of etcd at one revision; `more` where the limit cut it."""

    records: Sequence[Record]
    revision: int
    more: bool
    count: int


@valueclass
class RawEvent:
    """One etcd event: `record` is None for a removal."""

    key: str
    record: Record | None
    mod_revision: int
    position: int


@valueclass
class PastEvent:
    """An event of etcd's history and the value before it; None where there was none."""

    event: RawEvent
    before: Record | None


class Backend(Protocol):
    """etcd, as the rest of storage sees it: `storage.etcd.store`. Keys are relative to the prefix."""

    async def read(self, keys: Collection[str]) -> tuple[int, dict[str, Snapshot]]:
        """Linearizable, all at one revision, which comes first. Raises Unavailable."""
        ...

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0
    ) -> RawPage:
        """Keys under `prefix` in order, linearizable (revision 0) or at a past revision.

        Raises Expired (compacted), TooLargeResourceVersion (future), Unavailable.
        """
        ...

    async def current_revision(self) -> int:
        """Linearizable; concurrent callers share one request. Raises Unavailable."""
        ...

    def events(self, after_revision: int) -> AsyncIterator[tuple[int, Sequence[RawEvent]]]:
        """(revision, events) of everything under the prefix after a revision, whole revisions only.

        An empty batch reports progress to that revision. Ends with Expired (compacted) or
        Unavailable; the caller resumes.
        """
        ...

    def replay(
        self, after_revision: int, until_revision: int
    ) -> AsyncGenerator[tuple[int, Sequence[PastEvent]], None]:
        """History: as `events`, with the value before each. The caller ends it (`aclosing`) once it
        has come to `until_revision`, which etcd has reached, or past it: one of both comes.

        Raises Expired (compacted, a value before a change too), UnreadableRecord, Unavailable.
        """
        ...
