"""The verbs of any one kind: `quotaapi.registry.rest.Rest`, the registry's only door.

Each verb's logic is a module of its own; here they meet the two rules that hold for all of them:
nobody but the server writes a read-only kind, and what storage raises is translated.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from apis.meta import errors
from apis.meta.codec import Decoded
from apis.meta.request import UserInfo
from apis.meta.transaction import Record
from quotaapi.registry import applying, create, deletion, interpret, reading, selection, update
from quotaapi.registry.heavy import LARGE_BYTES
from quotaapi.registry.options import DeleteOptions, Transform, WriteOptions, Written
from quotaapi.registry.rest import ListQuery
from quotaapi.registry.wiring import Machinery
from storage.interface import Page, Predicate, Subscription

T = TypeVar("T")


class Store:
    """One per resource. Writes are not to be cancelled: the caller runs them in a task that
    outlives its client."""

    def __init__(self, machinery: Machinery) -> None:
        self.resource = machinery.resource
        self._machinery = machinery

    async def create(
        self, user: UserInfo, namespace: str, body: Decoded, options: WriteOptions
    ) -> Written:
        """The body is used up."""
        return await self._write(
            "create",
            "",
            lambda: create.create(self._machinery, user, namespace, body, options),
            body.size,
        )

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
        target = update.Target(user, namespace, name, options, subresource, body.size)
        return await self._write(
            "update", name, lambda: update.update(self._machinery, target, body), body.size
        )

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
        target = update.Target(user, namespace, name, options, subresource, size)
        return await self._write(
            "patch", name, lambda: update.patch(self._machinery, target, transform), size
        )

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
        target = update.Target(user, namespace, name, options, subresource, config.size)
        return await self._write(
            "patch", name, lambda: applying.apply(self._machinery, target, config), config.size
        )

    async def delete(
        self, user: UserInfo, namespace: str, name: str, options: DeleteOptions
    ) -> Written:
        return await self._write(
            "delete",
            name,
            lambda: deletion.delete(self._machinery, user, namespace, name, options),
        )

    async def delete_collection(
        self, user: UserInfo, namespace: str, query: ListQuery, options: DeleteOptions
    ) -> Page:
        return await self._write(
            "deletecollection",
            "",
            lambda: deletion.delete_collection(self._machinery, user, namespace, query, options),
        )

    async def get(
        self, namespace: str, name: str, *, resource_version: int | None = None
    ) -> Record:
        try:
            return await reading.get(self._machinery, namespace, name, resource_version)
        except interpret.LOWER_ERRORS as error:
            raise interpret.read_error(error) from error

    async def list(self, namespace: str, query: ListQuery) -> Page:
        try:
            return await reading.list_page(self._machinery, namespace, query)
        except interpret.LOWER_ERRORS as error:
            raise interpret.read_error(error) from error

    def watch(
        self, namespace: str, query: ListQuery, since: int
    ) -> AbstractAsyncContextManager[Subscription]:
        return reading.watch(self._machinery, namespace, query, since)

    def matches(self, query: ListQuery) -> Predicate | None:
        return selection.predicate(query)

    async def current_version(self) -> int:
        try:
            return await self._machinery.reader.current_version()
        except interpret.LOWER_ERRORS as error:
            raise interpret.read_error(error) from error

    async def _write(
        self, verb: str, name: str, carry_out: Callable[[], Awaitable[T]], size: int = 0
    ) -> T:
        """`size`: bytes of what it brings, which is in memory until it is done."""
        if self.resource.read_only:
            raise errors.method_not_allowed(self.resource, verb)
        try:
            if size < LARGE_BYTES:
                return await carry_out()
            with self._machinery.heavy.holding(size):
                return await carry_out()
        except interpret.LOWER_ERRORS as error:
            raise interpret.write_error(error, self.resource, verb, name) from error
