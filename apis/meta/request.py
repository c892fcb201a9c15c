"""Values that describe one request. A leaf on purpose: every layer may name them."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from apis.meta.resource import Resource
from apis.meta.transaction import Object
from apis.meta.values import valueclass


class Operation(StrEnum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@valueclass
class UserInfo:
    """Who asks, as authentication established it."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))


@valueclass
class Attributes:
    """What admission sees of one operation on one object.

    `obj` is the object as it would be stored (None on delete) and `old` the stored one (None on
    create). Mutating plugins may change `obj` in place; nobody changes `old`.
    `subresource` is "" or "status". `options`: `dry_run` judges without storing.
    `warnings`: what the client is to be told should the write go through, a sentence each. Whoever
    looks at the operation may add to it; said twice counts once, since plugins may run again.
    `defaulted`: field path -> what admission filled it in from, for refusals not to speak as if the
    client had written it.
    `relied_on`: what plugins read of other objects before those were guarded, by a name of the
    plugin's. Whoever decides under guards compares it with what is stored then.
    """

    operation: Operation
    resource: Resource
    namespace: str
    name: str
    user: UserInfo
    obj: Object | None
    old: Object | None
    subresource: str = ""
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list, compare=False)
    defaulted: dict[str, str] = field(default_factory=dict, compare=False)
    relied_on: dict[str, object] = field(default_factory=dict, compare=False)
