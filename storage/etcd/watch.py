"""One etcd watch: its revisions, how far it came, and whether its silence can be trusted.

A watch that is silent is checked, not trusted. Silence is right while nothing happens, and looks
exactly like a watch that died in a proxy or on a member that is cut off. So after
`progress_seconds` without a message:

1. etcd is asked for its revision (linearizable). If the watch has delivered up to that revision,
   all is well, and that is reported as progress.
2. Otherwise either an event is on its way or another tenant of this etcd wrote. A fifth of the
   interval is left for the first.
3. Then a marker key under the prefix is written. A live watch must deliver this event; that it
   came proves that every earlier one did, and its revision is progress. When it does not come
   within another fifth of the interval, or cannot be written, the watch is cut.

The marker is written only where somebody else's writes move the revision, so a server with an
etcd of its own never writes it.

A watch that starts at exactly the revision to which etcd was compacted is served without that
revision's deletes (seen with 3.4.23 and 3.5.1) and without a word about it. So before anything of a
watch is handed on, the revision before its start is read, which fails if it is compacted.

A watch that starts far back is asked for in fragments: otherwise etcd makes one message of a
thousand revisions, which may be a hundred megabytes, comes after seconds of silence and is one line
of JSON. Fragments come in a row and are cut between any two events: of a revision that
goes on in the next one, nothing is handed on before.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from apis.meta.transaction import Unavailable
from storage.etcd import wire
from storage.etcd.client import Stream
from storage.interface import Expired

RawRevision = tuple[int, Sequence[wire.Message]]
"""A revision and its events as etcd sends them; no events for progress."""


class Store(Protocol):
    """What a watch asks of the store that it belongs to; `storage.etcd.store` tells the details."""

    @property
    def identity(self) -> str: ...
    def note(self, answer: wire.Message) -> int: ...
    async def current_revision(self) -> int: ...
    async def check_not_compacted(self, revision: int) -> None: ...
    async def mark_progress(self) -> int: ...


class Watch:
    """A watch that was just asked for: first `opened`, then `next` again and again, by one task."""

    def __init__(
        self, store: Store, stream: Stream, after_revision: int, progress_seconds: float
    ) -> None:
        self._store = store
        self._stream = stream
        self._after = self._last = after_revision
        self._is_whole = after_revision <= 0
        """Whether it is known that no compaction took events from the watch's start."""
        self._patience_seconds = progress_seconds
        self._grace_seconds = progress_seconds / 5
        self._suspicious = False
        self._owed = 0
        """The marker's revision that has to come before the next silence ends."""
        self._begun: Sequence[wire.Message] = ()
        """Events of a revision that goes on in the next fragment."""

    async def opened(self, known: str) -> None:
        """Wait for etcd's confirmation. `known` is the cluster that `after_revision` belongs to.

        Raises Expired where that revision means nothing to the etcd that answers.
        """
        try:
            async with asyncio.timeout(self._patience_seconds):
                message = await self._stream.next()
        except TimeoutError as error:
            self._stream.distrust()
            raise Unavailable("etcd did not confirm the watch") from error
        self._check(message)
        newest = self._store.note(message)
        if known and self._store.identity != known:
            raise Expired(f"another etcd cluster answers: {self._store.identity}, not {known}")
        if newest < self._last:
            # Either this member lags, or the store was restored: a linearizable read tells.
            newest = await self._store.current_revision()
            if newest < self._last:
                raise Expired(f"etcd is at revision {newest}, before {self._last}")

    async def next(self) -> Sequence[RawRevision]:
        """What came next: revisions with their events, or one without as progress; may be empty."""
        quiet = not (self._suspicious or self._owed)
        try:
            async with asyncio.timeout(self._patience_seconds if quiet else self._grace_seconds):
                message = await self._stream.next()
        except TimeoutError:
            return await self._doubt()
        self._check(message)
        self._suspicious = False
        if not self._is_whole:
            await self._store.check_not_compacted(self._after)
            self._is_whole = True
        revision = self._store.note(message)
        events = message.get("events")
        if not events:
            return self._progress(revision)
        revisions = _by_revision([*self._begun, *events])
        self._begun = revisions.pop()[1] if message.get("fragment") else ()
        if not revisions:
            return ()
        self._last = revisions[-1][0]
        if self._last >= self._owed:
            self._owed = 0
        return revisions

    def _progress(self, revision: int) -> Sequence[RawRevision]:
        # etcd queues a watch's progress behind its events, and only once it has caught up.
        if revision <= self._last:
            return ()
        self._last = revision
        return ((revision, ()),)

    async def _doubt(self) -> Sequence[RawRevision]:
        """The watch was silent for too long. Raises Unavailable where it cannot be trusted."""
        if self._owed:
            self._stream.distrust()
            raise Unavailable(f"the watch is silent at {self._last}, etcd is at {self._owed}")
        newest = await self._store.current_revision()
        if newest < self._last:
            raise Expired(f"etcd is at revision {newest}, before {self._last}")
        if newest == self._last:
            self._suspicious = False
            # Nothing to deliver, and so nothing that a compaction could have taken away.
            return ((newest, ()),)
        if self._suspicious:
            self._suspicious = False
            self._owed = await self._store.mark_progress()
        else:
            self._suspicious = True
        return ()

    def _check(self, message: wire.Message) -> None:
        if not message.get("canceled"):
            return
        if "compact_revision" in message:
            raise Expired(f"compacted at revision {message['compact_revision']}")
        raise Unavailable(f"etcd cancelled the watch: {message.get('cancel_reason', 'no reason')}")


def _by_revision(events: Sequence[wire.Message]) -> list[RawRevision]:
    """Events in order, grouped: only fragments of one message split a revision."""
    grouped: list[tuple[int, list[wire.Message]]] = []
    for event in events:
        revision = wire.number(event["kv"], "mod_revision")
        if not grouped or grouped[-1][0] != revision:
            grouped.append((revision, []))
        grouped[-1][1].append(event)
    return list(grouped)
