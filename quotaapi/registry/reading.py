"""Get, list and watch: from the reader, with selectors compiled and errors translated."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from apis.meta import errors
from apis.meta.keys import resource_prefix
from apis.meta.transaction import Record
from quotaapi.registry import interpret, selection
from quotaapi.registry.rest import ListQuery
from quotaapi.registry.wiring import Machinery
from storage.interface import Delivery, Event, ListOptions, Page, Predicate, Subscription


async def get(
    machinery: Machinery, namespace: str, name: str, resource_version: int | None
) -> Record:
    key = machinery.key(namespace, name)
    record = await machinery.reader.get(key, resource_version=resource_version)
    if record is None:
        raise errors.not_found(machinery.resource, name)
    return record


async def list_page(machinery: Machinery, namespace: str, query: ListQuery) -> Page:
    """Raises what the reader raises."""
    predicate = selection.predicate(query)
    key = selection.single_key(machinery.resource, namespace, query)
    if key is not None:
        return await _list_one(machinery, key, predicate)
    options = ListOptions(
        query.resource_version, query.match, query.limit, query.continue_token, predicate
    )
    return await machinery.reader.list(_prefix(machinery, namespace), options)


async def _list_one(machinery: Machinery, key: str, predicate: Predicate | None) -> Page:
    """A list of at most one object, without walking the namespace.

    The version is taken first and the object read not older than it; where it is newer, its own
    version is the list's, so that a watch from there misses nothing and repeats nothing.
    """
    version = await machinery.reader.current_version()
    record = await machinery.reader.get(key, resource_version=version)
    if record is None:
        return Page((), version)
    version = max(version, record.resource_version)
    facts = selection.extract(machinery.resource)(key, record.object())
    return Page((record,) if predicate is None or predicate(facts) else (), version)


@asynccontextmanager
async def watch(
    machinery: Machinery, namespace: str, query: ListQuery, since: int
) -> AsyncIterator[Subscription]:
    """A subscription whose errors are StatusErrors, on entry and later."""
    events = machinery.reader.watch(
        _prefix(machinery, namespace), since, selection.predicate(query)
    )
    try:
        async with events as subscription:
            yield _Translated(subscription)
    except interpret.LOWER_ERRORS as error:
        raise interpret.read_error(error) from error


class _Translated:
    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    def deliver(self, delivery: Delivery) -> None:
        self._subscription.deliver(delivery)

    async def next(self, timeout_seconds: float) -> Sequence[Event]:
        try:
            return await self._subscription.next(timeout_seconds)
        except interpret.LOWER_ERRORS as error:
            raise interpret.read_error(error) from error

    @property
    def progress(self) -> int:
        return self._subscription.progress


def _prefix(machinery: Machinery, namespace: str) -> str:
    return resource_prefix(machinery.resource.plural, namespace)
