"""The seams of authentication and authorization: what else may be asked comes in behind these."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from apis.meta.request import UserInfo

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
"""Members pass every authorizer and every limit: who repairs must get through."""


class Credentials(Protocol):
    """What a request brings with it: implemented by the filter that authenticates."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Case-insensitive; the first of several equal ones."""
        ...

    @property
    def subject(self) -> tuple[str, tuple[str, ...]] | None:
        """(CN, every O) of the client certificate, which TLS has verified; None without one."""
        ...


class Authenticator(Protocol):
    """One way to tell who asks. They are asked in order; the first answer counts."""

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """None where the request has no credentials of this kind.

        Raises 401 for credentials of this kind that are wrong: no later authenticator is asked.
        """
        ...


class Attributes(Protocol):
    """What is asked for; `resource` is empty where `path` names none."""

    @property
    def verb(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def subresource(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason` is shown to the client where it is denied."""

    allowed: bool
    reason: str = ""


ALLOWED = Decision(allowed=True)


class Authorizer(Protocol):
    """Whether a user may. Deny is the answer where nothing positive is known."""

    async def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        """Raises 503 where nobody can tell for now."""
        ...


def authenticated(name: str, groups: tuple[str, ...], uid: str = "") -> UserInfo:
    """A user with the group that every authenticated one is in."""
    if AUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return UserInfo(name, groups, uid)
