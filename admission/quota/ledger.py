"""What quota admission asks of those around it. Storage implements `Transactor` structurally."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from apis.meta.values import valueclass


class Directory(Protocol):
    """Who refers to whom, as the watch cache's indexes have it.

    It may be stale: it names users in messages and finds usages whose display to refresh. No
    decision rests on it. There may be very many: an answer has `limit` of them at most.
    """

    def shoots_of(self, binding_key: str, limit: int) -> Sequence[str]:
        """`namespace/name` of shoots that use a binding."""
        ...

    def bindings_of(self, namespace: str, name: str, limit: int) -> Sequence[str]:
        """`namespace/name` of bindings that name a quota."""
        ...

    def usages_of(self, namespace: str, name: str, limit: int) -> Sequence[str]:
        """Keys of the QuotaUsages of a quota."""
        ...

    async def catch_up(self) -> None:
        """Wait, for a moment at most, until what was written before this call is known here."""
        ...


@valueclass
class Surroundings:
    """What changes need besides the records they rest on."""

    directory: Directory
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]


@valueclass
class Needs:
    """The keys that a change's decision rests on, besides its own object's.

    `exclusive` will be written, `shared` only guarded. `missing` has to be known before the
    others can be told: read it and ask again.
    """

    exclusive: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()

    @property
    def keys(self) -> frozenset[str]:
        return self.exclusive | self.shared

    @property
    def is_empty(self) -> bool:
        return not (self.exclusive or self.shared)


NOTHING = Needs()
