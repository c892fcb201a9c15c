"""The verbs of one resource, as the HTTP endpoints see them; implemented by `quotaapi.registry.store`."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from apis.meta.codec import Decoded
from apis.meta.request import UserInfo
from apis.meta.resource import Resource
from apis.meta.selectors import FieldSelector, LabelSelector
from apis.meta.transaction import Record
from apis.meta.values import valueclass
from quotaapi.registry.options import DeleteOptions, Transform, WriteOptions, Written
from storage.interface import Page, Predicate, Subscription


@valueclass
class ListQuery:
    """Decoded query parameters of a list or watch. `resource_version` None: absent or empty."""

    labels: LabelSelector
    fields: FieldSelector
    resource_version: int | None = None
    match: str = ""
    limit: int = 0
    continue_token: str = ""


class Rest(Protocol):
    """All methods raise StatusError and nothing else that a caller need handle."""

    resource: Resource

    async def create(
        self, user: UserInfo, namespace: str, body: Decoded, options: WriteOptions
    ) -> Written: ...

    async def update(
        self,
        user: UserInfo,
        namespace: str,
        name: str,
        body: Decoded,
        options: WriteOptions,
        *,
        subresource: str = "",
    ) -> Written: ...

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
        """`size`: bytes that the patch brings, or may make by copying; see `heavy`."""
        ...

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
        """Server-side apply: creates the object where there is none, but not by way of a subresource."""
        ...

    async def delete(
        self, user: UserInfo, namespace: str, name: str, options: DeleteOptions
    ) -> Written: ...

    async def delete_collection(
        self, user: UserInfo, namespace: str, query: ListQuery, options: DeleteOptions
    ) -> Page:
        """The page holds what was deleted, as it was."""
        ...

    async def get(
        self, namespace: str, name: str, *, resource_version: int | None = None
    ) -> Record: ...

    async def list(self, namespace: str, query: ListQuery) -> Page: ...

    def watch(
        self, namespace: str, query: ListQuery, since: int
    ) -> AbstractAsyncContextManager[Subscription]:
        """Events whose facts `predicate(query)` has matched before or after; see storage.interface."""
        ...

    def matches(self, query: ListQuery) -> Predicate | None:
        """The query's selectors compiled, or None where everything matches."""
        ...

    async def current_version(self) -> int: ...
