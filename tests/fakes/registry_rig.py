"""A registry of one kind over memory, with a clock and names that a test can foresee."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from apis.garden.v1beta1.register import QUOTA
from apis.meta import codec
from apis.meta.codec import Decoded
from apis.meta.request import Attributes, UserInfo
from apis.meta.resource import Resource
from apis.meta.selectors import FieldSelector, LabelSelector
from apis.meta.transaction import Object, Put, Record, Transaction, encode_body
from quotaapi.registry.heavy import Heavy
from quotaapi.registry.options import DeleteOptions, Transform, WriteOptions, Written
from quotaapi.registry.rest import ListQuery
from quotaapi.registry.selection import extract
from quotaapi.registry.store import Store
from quotaapi.registry.wiring import Machinery
from tests.fakes.memory_registry import MemoryGate, MemoryStore

USER = UserInfo("alice", ("system:authenticated",))
NAMESPACE = "garden-trial"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW_TEXT = "2026-01-02T03:04:05Z"


async def _nothing(_attributes: Attributes) -> None:
    return None


@dataclass
class Rig:
    """`mutating` and `validating` run in order, as the chain's plugins would."""

    resource: Resource = QUOTA
    mutating: list[Callable[[Attributes], None]] = field(default_factory=list)
    validating: list[Callable[[Attributes], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        uids, suffixes = count(1), count(1)
        self.memory = MemoryStore(extract(self.resource))
        self.gate = MemoryGate(self.memory)
        self.now = NOW
        self.store = Store(
            Machinery(
                resource=self.resource,
                reader=self.memory,
                transactor=self.memory,
                mutate=self._mutate,
                validate=self._validate,
                admit=self.gate.admit,
                clock=lambda: self.now,
                new_uid=lambda: f"uid-{next(uids)}",
                random_suffix=lambda: f"{next(suffixes):05d}",
                heavy=Heavy(),
            )
        )

    async def _mutate(self, attributes: Attributes) -> None:
        for plugin in self.mutating:
            plugin(attributes)

    async def _validate(self, attributes: Attributes) -> None:
        for plugin in self.validating:
            plugin(attributes)

    @property
    def namespace(self) -> str:
        return NAMESPACE if self.resource.namespaced else ""

    def key(self, name: str) -> str:
        parts = [self.resource.group, self.resource.plural, self.namespace, name]
        return "/".join(part for part in parts if part)

    def stored(self, name: str) -> Object | None:
        record = self.memory.records.get(self.key(name))
        return record.object() if record else None

    def elsewhere(self, name: str, change: Callable[[Object], None]) -> Record:
        """Another replica changes an object; this process has not seen it yet."""
        seen = self.memory.records[self.key(name)]
        obj = seen.object()
        change(obj)
        self.memory.apply(Transaction({}, [Put(seen.key, encode_body(obj), seen.header)]))
        self.memory.lag(seen.key, seen)
        return self.memory.records[seen.key]

    async def create(self, obj: Object, **options: Any) -> Written:
        body = Decoded(codec.copy(obj))
        return await self.store.create(USER, self.namespace, body, WriteOptions(**options))

    async def update(
        self, obj: Object, *, name: str | None = None, subresource: str = "", **options: Any
    ) -> Written:
        return await self.store.update(
            USER,
            self.namespace,
            name or obj["metadata"]["name"],
            Decoded(codec.copy(obj)),
            WriteOptions(**options),
            subresource=subresource,
        )

    async def patch(
        self, name: str, transform: Transform, *, subresource: str = "", **options: Any
    ) -> Written:
        return await self.store.patch(
            USER,
            self.namespace,
            name,
            transform,
            WriteOptions(**options),
            subresource=subresource,
        )

    async def apply(
        self,
        config: Object,
        manager: str,
        *,
        name: str = "a",
        subresource: str = "",
        **options: Any,
    ) -> Written:
        return await self.store.apply(
            USER,
            self.namespace,
            name,
            Decoded(codec.copy(config)),
            WriteOptions(field_manager=manager, **options),
            subresource=subresource,
        )

    async def delete(self, name: str, **options: Any) -> Written:
        return await self.store.delete(USER, self.namespace, name, DeleteOptions(**options))


def merging(patch: Mapping[str, Any]) -> Transform:
    """A merge patch of plain values, for tests: None removes."""

    def merged(into: Any, change: Any) -> Any:
        if not isinstance(change, Mapping):
            return change
        result = dict(into) if isinstance(into, dict) else {}
        for key, value in change.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = merged(result.get(key), value)
        return result

    return lambda obj: merged(obj, patch)


def a_query(
    labels: str = "", fields: str = "", resource: Resource = QUOTA, **more: Any
) -> ListQuery:
    supported = {"metadata.name", "metadata.namespace", *resource.selectable_fields}
    return ListQuery(LabelSelector.parse(labels), FieldSelector.parse(fields, supported), **more)
