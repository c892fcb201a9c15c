"""The seams of authentication and authorization: what else may be asked comes in behind these."""

from collections.abc import Mapping
from typing import Protocol

from multidict import MultiMapping

from apis.meta.request import ANONYMOUS, UserInfo
from apis.meta.values import valueclass

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
"""Members pass every authorizer and every limit: who repairs must get through."""


class ClusterAccessError(ValueError):
    """A kubeconfig, a pod's credentials or a bundle of authorities that cannot be used."""


class Credentials(Protocol):
    """What a request brings with it: implemented by the filter that authenticates."""

    @property
    def headers(self) -> MultiMapping[str]:
        """Case-insensitive; `get` answers the first of several equal ones."""
        ...

    @property
    def subject(self) -> tuple[str, tuple[str, ...]] | None:
        """(CN, every O) of a client certificate that a client CA signed; None without one."""
        ...

    @property
    def proxy(self) -> tuple[str, tuple[str, ...]] | None:
        """The same of a certificate that the requestheader CA signed: no user's, but a proxy's."""
        ...

    @property
    def stranger(self) -> bool:
        """Whether there is a certificate that is neither."""
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


@valueclass
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


def authenticated(
    name: str,
    groups: tuple[str, ...],
    uid: str = "",
    extra: Mapping[str, tuple[str, ...]] | None = None,
) -> UserInfo:
    """A user with the group that every authenticated one is in; who is said to be nobody stays so."""
    if name != ANONYMOUS.name and AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return UserInfo(name, groups, uid, extra or {})


def is_text(header: str) -> bool:
    """Whether a header's value is UTF-8: bytes that are none arrive as lone surrogates, which
    no JSON can say."""
    try:
        header.encode()
    except UnicodeEncodeError:
        return False
    return True
