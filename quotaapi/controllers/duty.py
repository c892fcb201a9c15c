"""What the leader's duties have in common."""

from collections.abc import Coroutine
from typing import Any, Final, Protocol, TypeVar

from apis.meta.errors import StatusError
from apis.meta.transaction import TransactionError
from storage.interface import StorageError

T = TypeVar("T")

FAILURES: Final = (StatusError, TransactionError, StorageError)
"""What a duty gets over by trying again: etcd is away, or another replica leads."""

UNKNOWN: Final = (ValueError, LookupError)
"""What a newer release has stored and this one cannot account for: it is left to that one."""


class Carry(Protocol):
    """Carries a write out in a task that nothing cancels half-way."""

    async def __call__(self, write: Coroutine[Any, Any, T]) -> T: ...
