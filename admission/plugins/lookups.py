"""What plugins look up. quotaapi implements these over the newest records and the cluster.

All are asked on the request path, possibly several times for one request, and raise StatusError
(or storage's Unavailable) where they cannot answer: what cannot be checked is refused. Where a
question has no meaning in an installation (no namespaces, no secrets), the answer says so.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from apis.meta.request import UserInfo
from apis.meta.transaction import Record

SHOOTS = "shoots"


class Profiles(Protocol):
    async def profile(self, name: str) -> Record | None:
        """The newest CloudProfile of that name."""
        ...


class AllProfiles(Protocol):
    async def profiles(self, *, newest: bool) -> Sequence[Record]:
        """Every CloudProfile, in any order. `newest`: etcd is asked, else the cache will do."""
        ...


class Shoots(Protocol):
    async def stored_prices(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The price list under which a stored shoot was admitted (`Header.prices`)."""
        ...


class LimitRanges(Protocol):
    async def limit_ranges(self, namespace: str) -> Sequence[Record]:
        """The ShootLimitRanges of a namespace, in any order; mostly there are none."""
        ...


class BindingQuotas(Protocol):
    async def quotas_of(self, namespace: str, kind: str, name: str) -> Sequence[Record]:
        """The quotas of a binding, `kind` and `name` as a shoot names it.

        Empty where there is no such binding, or kind: that is judged elsewhere.
        """
        ...


class Rights(Protocol):
    async def may(
        self, user: UserInfo, verb: str, group: str, resource: str, namespace: str, name: str
    ) -> bool:
        """Whether the user is allowed `verb` on that object, whether or not it exists."""
        ...


class ReferenceChecker(Rights, Protocol):
    async def secret_exists(self, namespace: str, name: str) -> bool | None:
        """None where secrets are unknown: stand-alone."""
        ...


class Phase(StrEnum):
    """UNKNOWN: there are no namespaces to ask for."""

    ACTIVE = "Active"
    TERMINATING = "Terminating"
    UNKNOWN = "Unknown"


class NamespaceLookup(Protocol):
    async def phase(self, name: str) -> Phase | None:
        """None for a namespace that does not exist."""
        ...

    async def confirms_deletion(self, name: str) -> bool | None:
        """Whether its Shoots are deleted only where they say so themselves.

        None where the namespace says nothing of it, does not exist, or is unknown.
        """
        ...
