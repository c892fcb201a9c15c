"""What the verbs of one resource work with; put together by the composition root.

The registry does not know admission: it is handed the chain and the last gate as callables.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from apis.meta.apply import Applier
from apis.meta.keys import object_key
from apis.meta.managedfields import Ownership
from apis.meta.request import Attributes
from apis.meta.resource import Resource
from apis.meta.times import format_rfc3339
from apis.meta.transaction import Committed, Object, Record, Transactor
from quotaapi.registry.heavy import LARGE_BYTES, Heavy
from storage.interface import Reader

Mutate = Callable[[Attributes], Awaitable[None]]
"""The mutating half of the chain: may change `attributes.obj` in place, raises StatusError."""

Validate = Callable[[Attributes], Awaitable[None]]
"""The validating half: changes nothing, raises StatusError."""

Admit = Callable[[Attributes, str, Record | None, Object | None], Awaitable[Committed | None]]
"""(attributes, key, old, obj): judge and store `obj` (None: remove the key) where `old` is still
what is stored. None for a dry run that passed. Raises StatusError, Conflict where the object
moved, Unavailable, OutcomeUnknown, TooLarge. The caller holds the claim of the object's key."""

ATTEMPTS = 5
"""How often a write is evaluated afresh because its object moved under it: only other replicas
can move it while it is claimed, so more would mean a fight that the client should know of."""


@dataclass(frozen=True, slots=True)
class Machinery:
    """`ownership` and `applier` follow from the kind."""

    resource: Resource
    reader: Reader
    transactor: Transactor
    mutate: Mutate
    validate: Validate
    admit: Admit
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    random_suffix: Callable[[], str]
    heavy: Heavy
    ownership: Ownership = field(init=False)
    applier: Applier = field(init=False)

    def __post_init__(self) -> None:
        ownership = Ownership(self.resource)
        object.__setattr__(self, "ownership", ownership)
        object.__setattr__(self, "applier", Applier(self.resource, ownership))

    def now(self) -> str:
        """RFC 3339, to the second, as objects show times."""
        return format_rfc3339(self.clock())

    def key(self, namespace: str, name: str) -> str:
        return object_key(self.resource.plural, namespace, name)

    async def newest(self, key: str) -> Record | None:
        known = self.transactor.known(key)
        if known is None:
            known = (await self.transactor.newest((key,)))[key]
        return known.record

    async def object_of(self, record: Record) -> Object:
        """`record.object()`, a large one from a thread."""
        if len(record.body) < LARGE_BYTES:
            return record.object()
        # Of no size, to those who count what waits: the record is there anyway.
        return await self.heavy.run(0, record.object)

    async def is_current(self, key: str, record: Record | None) -> bool:
        """Whether a refusal or a no-op may rest on `record`: etcd is asked."""
        return await self.transactor.confirm({key: record.mod_revision if record else 0})
