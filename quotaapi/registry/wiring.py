"""What the verbs of one resource work with; put together by the composition root.

The registry does not know admission: it is handed the chain and the last gate as callables.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from apis.meta.keys import object_key
from apis.meta.request import Attributes
from apis.meta.resource import Resource
from apis.meta.transaction import Committed, Object, Record, Transactor
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
    """`garbage_collected`: somebody removes the finalizers that a foreground or orphaning delete
    sets (kube-controller-manager, where the group is aggregated); without it they are not set,
    since the object would linger for ever."""

    resource: Resource
    reader: Reader
    transactor: Transactor
    mutate: Mutate
    validate: Validate
    admit: Admit
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    random_suffix: Callable[[], str]
    garbage_collected: bool = True

    def key(self, namespace: str, name: str) -> str:
        return object_key(self.resource.plural, namespace, name)

    async def newest(self, key: str) -> Record | None:
        return (await self.transactor.newest((key,)))[key].record

    async def is_current(self, key: str, record: Record | None) -> bool:
        """Whether a refusal or a no-op may rest on `record`: etcd is asked."""
        return await self.transactor.confirm({key: record.mod_revision if record else 0})
