"""A `Rest` in memory, for tests of HTTP alone: it stores what it is given and judges nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from apis.meta import errors
from apis.meta.codec import Decoded
from apis.meta.request import UserInfo
from apis.meta.resource import Resource
from apis.meta.transaction import NO_HEADER, POSITIONS, Object, Record, encode_body
from quotaapi.registry import selection
from quotaapi.registry.options import DeleteOptions, Transform, WriteOptions, Written
from quotaapi.registry.rest import ListQuery
from storage.interface import Delivery, Event, Facts, Page, Predicate, Subscription

CREATED = "2024-01-02T03:04:05Z"


class FakeSubscription:
    """Events that the test or the fake's own writes put in."""

    def __init__(self, progress: int) -> None:
        self.queue: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self.progress = progress

    def deliver(self, delivery: Delivery) -> None:
        """It goes on handing out."""

    async def next(self, timeout_seconds: float) -> Sequence[Event]:
        try:
            async with asyncio.timeout(timeout_seconds):
                first = await self.queue.get()
        except TimeoutError:
            return ()
        if isinstance(first, Exception):
            raise first
        self.progress = first.resource_version
        return (first,)


class FakeRest:
    """One resource. `before_write` may wait or raise: it stands for everything that takes time."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.records: dict[tuple[str, str], Record] = {}
        self.revision = 1
        self.subscriptions: list[FakeSubscription] = []
        self.users: list[UserInfo] = []
        self.options: list[WriteOptions | DeleteOptions] = []
        self.queries: list[ListQuery] = []
        self.before_write: Callable[[], asyncio.Future[None]] | None = None
        self.read_error: Exception | None = None
        self.watch_error: Exception | None = None

    @property
    def version(self) -> int:
        return self.revision * POSITIONS + POSITIONS - 1

    async def create(
        self, user: UserInfo, namespace: str, body: Decoded, options: WriteOptions
    ) -> Written:
        self.options.append(options)
        await self._begin(user)
        obj: Object = body.value
        name = obj["metadata"]["name"]
        if (namespace, name) in self.records:
            raise errors.already_exists(self.resource, name)
        obj["metadata"].setdefault("uid", f"uid-{name}")
        obj["metadata"].setdefault("creationTimestamp", CREATED)
        if namespace:
            obj["metadata"]["namespace"] = namespace
        if options.dry_run:
            return Written(encode_body(obj), 0, NO_HEADER, created=True)
        return Written.of(self._store(namespace, name, obj), created=True)

    async def update(
        self,
        user: UserInfo,
        namespace: str,
        name: str,
        body: Decoded,
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        self.options.append(options)
        await self._begin(user)
        self._existing(namespace, name)
        return Written.of(self._store(namespace, name, body.value), warnings=("fake warning",))

    async def patch(
        self,
        user: UserInfo,
        namespace: str,
        name: str,
        transform: Transform,
        options: WriteOptions,
        *,
        subresource: str = "",
        size: int = 0,
    ) -> Written:
        self.options.append(options)
        await self._begin(user)
        patched = transform(self._existing(namespace, name).object())
        return Written.of(self._store(namespace, name, patched))

    async def apply(
        self,
        user: UserInfo,
        namespace: str,
        name: str,
        config: Decoded,
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written:
        self.options.append(options)
        await self._begin(user)
        created = (namespace, name) not in self.records
        return Written.of(self._store(namespace, name, config.value), created=created)

    async def delete(
        self, user: UserInfo, namespace: str, name: str, options: DeleteOptions
    ) -> Written:
        self.options.append(options)
        await self._begin(user)
        last = self._existing(namespace, name)
        if not options.dry_run:
            self._remove(namespace, name)
        return Written.of(last, removed=True)

    async def delete_collection(
        self, user: UserInfo, namespace: str, query: ListQuery, options: DeleteOptions
    ) -> Page:
        self.options.append(options)
        page = await self.list(namespace, query)
        for record in page.records:
            self._remove(namespace, record.object()["metadata"]["name"])
        return replace(page, resource_version=self.version)

    async def get(
        self, namespace: str, name: str, *, resource_version: int | None = None
    ) -> Record:
        if self.read_error is not None:
            raise self.read_error
        return self._existing(namespace, name)

    async def list(self, namespace: str, query: ListQuery) -> Page:
        self.queries.append(query)
        if self.read_error is not None:
            raise self.read_error
        matches = self.matches(query)
        found = [
            record
            for (where, _), record in sorted(self.records.items())
            if (not namespace or where == namespace)
            and (matches is None or matches(self._facts(record)))
        ]
        if query.limit and len(found) > query.limit:
            left = len(found) - query.limit
            return Page(found[: query.limit], self.version, "more", left)
        return Page(found, self.version)

    @asynccontextmanager
    async def watch(
        self, namespace: str, query: ListQuery, since: int
    ) -> AsyncIterator[Subscription]:
        if self.watch_error is not None:
            raise self.watch_error
        subscription = FakeSubscription(since)
        self.subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            self.subscriptions.remove(subscription)

    def matches(self, query: ListQuery) -> Predicate | None:
        return selection.predicate(query)

    async def current_version(self) -> int:
        return self.version

    def announce(self, event: Event | Exception) -> None:
        for subscription in self.subscriptions:
            subscription.queue.put_nowait(event)

    async def _begin(self, user: UserInfo) -> None:
        self.users.append(user)
        if self.before_write is not None:
            await self.before_write()

    def _existing(self, namespace: str, name: str) -> Record:
        record = self.records.get((namespace, name))
        if record is None:
            raise errors.not_found(self.resource, name)
        return record

    def _facts(self, record: Record) -> Facts:
        return selection.extract(self.resource)(record.key, record.object())

    def _store(self, namespace: str, name: str, obj: Object) -> Record:
        self.revision += 1
        before = self.records.get((namespace, name))
        record = Record(f"{namespace}/{name}", self.revision, 0, encode_body(obj))
        self.records[namespace, name] = record
        previous = self._facts(before) if before is not None else None
        self.announce(Event(record, self._facts(record), previous, before=before))
        return record

    def _remove(self, namespace: str, name: str) -> None:
        last = self.records.pop((namespace, name))
        self.revision += 1
        gone = replace(last, mod_revision=self.revision)
        self.announce(Event(gone, None, self._facts(last)))
