"""`storage.interface.Backend` on etcd: reads at one revision, ranges, and the events of a prefix."""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing, suppress

from apis.meta.keys import INTERNAL
from apis.meta.transaction import Record, Snapshot, TransactionError, Unavailable
from storage import versioner
from storage.etcd import records, wire
from storage.etcd.client import Client
from storage.etcd.history import Marks
from storage.etcd.own import OwnRecords
from storage.etcd.past import past_event
from storage.etcd.reads import ranges
from storage.etcd.refusals import FutureRevision, Unanswered
from storage.etcd.shared import SharedAnswer
from storage.etcd.space import Space
from storage.etcd.watch import RawRevision, Watch
from storage.interface import Expired, PastEvent, RawEvent, RawPage, TooLargeResourceVersion

PROGRESS_KEY = INTERNAL + "progress"
_MARK_TEXT = len(wire.b64(bytes(records.MARK_BYTES)))
_PAGE_KEYS = 500
"""Most keys of one answer: some 1 MB of shoots, decoded without holding the event loop for long."""


class EtcdStore:
    """What lies under `prefix` in etcd. Keys in and out are relative to it."""

    def __init__(
        self,
        client: Client,
        *,
        prefix: str = "/registry",
        progress_seconds: float = 10.0,
        max_operations: int = 128,
    ) -> None:
        self.client = client
        self.prefix = prefix.rstrip("/").encode() + b"/"
        self._progress_seconds = progress_seconds
        self._max_operations = max_operations
        self._revision = SharedAnswer(self._ask_revision)
        self._identity = ""
        self._seen = 0
        self.space = Space(client)
        self.marks = Marks()
        self.own = OwnRecords()
        self._followed: tuple[str, int, bytes] | None = None
        """Key, revision and mark of the last value that a watch of `events` delivered, or of the
        newest one that a range of everything found, with which a cache's load begins."""
        self._delivered = 0
        """The revision of the last event that the present watch of `events` delivered."""
        self.on_doubt: Callable[[], None] = lambda: None
        """Called when etcd's history is found not to be the one that was read before."""

    @property
    def identity(self) -> str:
        """The id of the etcd cluster that answered last; empty before the first answer.

        It changes when etcd was restored from a backup or the endpoint leads elsewhere: then
        nothing that was read before is comparable with what is read now.
        """
        return self._identity

    @property
    def seen_revision(self) -> int:
        """The newest revision in any answer of the present cluster."""
        return self._seen

    def full_key(self, key: str) -> bytes:
        return self.prefix + key.encode()

    def relative_key(self, full: bytes) -> str:
        return full[len(self.prefix) :].decode()

    def note(self, answer: wire.Message) -> int:
        """Remember who answered and how far it was; the answer's revision."""
        header = answer.get("header", {})
        revision = wire.number(header, "revision")
        cluster = str(header.get("cluster_id", "0"))
        if cluster != self._identity:
            self._identity = cluster
            self._seen = revision
        elif revision > self._seen:
            self._seen = revision
        return revision

    async def read(self, keys: Collection[str]) -> tuple[int, dict[str, Snapshot]]:
        """Linearizable, all at one revision, which comes first. Raises Unavailable."""
        wanted = list(keys)
        revision = 0
        found: dict[str, Snapshot] = {}
        for start in range(0, len(wanted), self._max_operations):
            part = wanted[start : start + self._max_operations]
            seen, ranges = await self.ranges(part, revision)
            revision = revision or seen
            for key, answer in zip(part, ranges, strict=True):
                found[key] = self.snapshot(key, answer)
        if not wanted:
            revision = await self.current_revision()
        return revision, found

    async def ranges(
        self, keys: Sequence[str], revision: int = 0
    ) -> tuple[int, Sequence[wire.Message]]:
        """etcd's revision, and what a range of each key answers, all at one revision: the newest
        where `revision` is 0. As many keys as one Txn takes. Raises Unavailable."""
        full_keys = [self.full_key(key) for key in keys]
        answer, found = await ranges(self.client, full_keys, revision)
        return self.note(answer), found

    def snapshot(self, key: str, answer: wire.Message) -> Snapshot:
        """A key as a range of it alone answered."""
        kvs = answer.get("kvs")
        if not kvs:
            return Snapshot(key, None)
        value = wire.unb64(kvs[0].get("value", ""))
        revision = wire.number(kvs[0], "mod_revision")
        self.marks.note(key, revision, value)
        return Snapshot(key, records.decode(key, revision, value))

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0
    ) -> RawPage:
        """Keys under `prefix` in order, linearizable (revision 0) or at a past revision.

        `count` is the number of keys after `start_after`. Read in pieces, all at one revision.
        Raises Expired (compacted), TooLargeResourceVersion (future), Unavailable.
        """
        first = self.full_key(start_after) + b"\0" if start_after else self.full_key(prefix)
        end = wire.range_end(self.full_key(prefix))
        total = -1
        at = revision
        if not prefix and not start_after:
            self._followed = None
        result: list[Record] = []
        more = True
        while more and not (limit and len(result) >= limit):
            most = min(_PAGE_KEYS, limit - len(result)) if limit else _PAGE_KEYS
            answer = await self._range(first, end, most, at)
            at = at or self.note(answer)
            total = wire.number(answer, "count") if total < 0 else total
            more = answer.get("more", False)
            for kv in answer.get("kvs", ()):
                full = wire.unb64(kv["key"])
                value = wire.unb64(kv.get("value", ""))
                key, modified = self.relative_key(full), wire.number(kv, "mod_revision")
                self.marks.note(key, modified, value)
                if not prefix and (self._followed is None or modified > self._followed[1]):
                    self._followed = (key, modified, records.mark_of(value))
                result.append(records.decode(key, modified, value))
                first = full + b"\0"
        return RawPage(result, at, more, total)

    async def _range(self, first: bytes, end: bytes, limit: int, revision: int) -> wire.Message:
        options: dict[str, object] = {"range_end": wire.b64(end).decode(), "limit": str(limit)}
        if revision:
            options["revision"] = str(revision)
        try:
            return await self.client.ask(
                "/kv/range", wire.encode(wire.range_request(first, **options))
            )
        except FutureRevision as error:
            newest = await self.current_revision()
            raise TooLargeResourceVersion(
                versioner.list_version(revision), versioner.list_version(newest)
            ) from error

    async def current_revision(self) -> int:
        """Linearizable; concurrent callers share one request. Raises Unavailable."""
        return await self._revision.get()

    async def _ask_revision(self) -> int:
        request = wire.range_request(self.full_key(PROGRESS_KEY), keys_only=True)
        return self.note(await self.client.ask("/kv/range", wire.encode(request)))

    async def check_not_compacted(self, revision: int) -> None:
        """Raises Expired where `revision` can no longer be read, Unavailable."""
        request = wire.range_request(
            self.full_key(PROGRESS_KEY), keys_only=True, revision=str(revision)
        )
        try:
            await self.client.ask("/kv/range", wire.encode(request))
        except FutureRevision as error:
            raise Expired(f"etcd is no longer at revision {revision}") from error

    async def ping(self) -> None:
        """Whether etcd serves linearizable reads. Raises Unavailable."""
        await self.current_revision()

    async def compact(self, revision: int) -> None:
        """Forget what is older than `revision`; nothing to do where that is done already."""
        try:
            await self.client.call("/kv/compaction", wire.encode({"revision": str(revision)}))
        except Expired:
            return
        except Unanswered as error:
            raise Unavailable(str(error)) from error

    async def events(
        self, after_revision: int
    ) -> AsyncGenerator[tuple[int, Sequence[RawEvent]], None]:
        """(revision, events) of everything under the prefix after a revision, whole revisions only.

        An empty batch reports progress to that revision. Ends with Expired (compacted, or the
        revisions are not those of before) or Unavailable; the caller resumes. Close it
        (`contextlib.aclosing`), so that the watch ends with it.
        """
        await self._check_history(after_revision)
        self.own.follow(after_revision)
        self._delivered = 0
        async with aclosing(self.raw_events(after_revision)) as revisions:
            async for revision, raw in revisions:
                yield revision, [self._event(e, i) for i, e in enumerate(raw)]

    def _event(self, raw: wire.Message, index: int) -> RawEvent:
        kv = raw["kv"]
        key = self.relative_key(wire.unb64(kv["key"]))
        revision = self._delivered = wire.number(kv, "mod_revision")
        if raw.get("type") == "DELETE":
            return RawEvent(key, None, revision, index)
        text = kv.get("value", "")
        mark = records.mark_of(wire.unb64(text[:_MARK_TEXT]))
        self.marks.note(key, revision, mark)
        self._followed = (key, revision, mark)
        record = self.own.take(key, revision, mark)
        if record is None:
            record = records.decode(key, revision, wire.unb64(text))
        return RawEvent(key, record, revision, record.position)

    async def replay(
        self, after_revision: int, until_revision: int
    ) -> AsyncGenerator[tuple[int, Sequence[PastEvent]], None]:
        """As `storage.interface.Backend` has it."""
        if self._delivered <= until_revision:
            # Nothing later is known to have been written under the prefix: then the end of a
            # history that other tenants went on with would be silence. A full etcd takes no
            # marker; there `Watch` doubts the silence.
            with suppress(TransactionError):
                await self.mark_progress()
        async with aclosing(self.raw_events(after_revision, previous=True)) as revisions:
            is_checked = False
            async for revision, raw in revisions:
                if not is_checked and self._followed is not None:
                    # After the stream was opened: a restore would have ended it.
                    await self._verify(self._followed)
                    is_checked = True
                yield revision, [past_event(self.relative_key, e, i) for i, e in enumerate(raw)]

    async def _check_history(self, after_revision: int) -> None:
        """Raises Expired where what was delivered or loaded is not what etcd has (`history`)."""
        followed, self._followed = self._followed, None
        if followed is None or followed[1] > after_revision:
            return
        try:
            await self._verify(followed)
        except Unavailable:
            self._followed = followed
            raise
        self._followed = followed

    async def _verify(self, followed: tuple[str, int, bytes]) -> None:
        """Raises Expired where etcd has another value there, Unavailable."""
        key, revision, mark = followed
        request = wire.range_request(self.full_key(key), revision=str(revision))
        try:
            answer = await self.client.ask("/kv/range", wire.encode(request))
        except Expired:
            return  # compacted: the watch itself finds out whether it comes too late
        except FutureRevision as error:
            raise Expired(f"etcd is no longer at revision {revision}") from error
        kvs = answer.get("kvs")
        if not kvs or records.mark_of(wire.unb64(kvs[0].get("value", ""))) != mark:
            raise Expired(f"revision {revision} has other contents: etcd was restored")

    async def raw_events(
        self, after_revision: int, *, previous: bool = False
    ) -> AsyncGenerator[RawRevision, None]:
        """Like `events`, the events not decoded; `previous`: with the values before them."""
        known = self._identity
        request = {
            "key": wire.b64(self.prefix).decode(),
            "range_end": wire.b64(wire.range_end(self.prefix)).decode(),
            "start_revision": str(after_revision + 1),
            "progress_notify": True,
            "fragment": True,
            "prev_kv": previous,
        }
        body = wire.encode({"create_request": request})
        async with self.client.stream("/watch", body) as stream:
            watch = Watch(self, stream, after_revision, self._progress_seconds)
            await watch.opened(known)
            while True:
                for revision in await watch.next():
                    yield revision

    async def mark_progress(self) -> int:
        """Write the marker that every live watch has to deliver; its revision."""
        put = {
            "key": wire.b64(self.full_key(PROGRESS_KEY)).decode(),
            "value": wire.b64(records.MARKER).decode(),
        }
        try:
            return self.note(await self.client.call("/kv/put", wire.encode(put)))
        except Unanswered as error:
            raise Unavailable(str(error)) from error
