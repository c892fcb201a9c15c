"""What a request asks of the registry besides its object: decoded query parameters and bodies."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from apis.meta.transaction import Header, Object, Record, splice_version
from apis.meta.values import valueclass


@valueclass
class WriteOptions:
    """`field_validation`: Ignore, Warn or Strict. `field_manager`: who owns what is written, "" where
    the client neither named it nor itself. `force`: an apply takes what others own."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False


@valueclass
class DeleteOptions:
    """`propagation`: "", Background, Foreground or Orphan. `uid` and `resource_version` are
    preconditions, None where absent."""

    dry_run: bool = False
    uid: str | None = None
    resource_version: str | None = None
    propagation: str = ""
    grace_period_seconds: int | None = None


Transform = Callable[[Object], Object]
"""A patch: from a fresh copy of the stored object to the object wanted. Raises StatusError."""


@valueclass
class Written:
    """What a write left behind (or, for a dry run, would have): `resource_version` 0 where there is none.

    `created`: answer 201. `warnings`: texts for Warning headers. `removed`: the object is gone.
    """

    body: bytes
    resource_version: int
    header: Header
    created: bool = False
    removed: bool = False
    warnings: tuple[str, ...] = ()

    def json(self) -> bytes:
        if not self.resource_version:
            return self.body
        return splice_version(self.body, self.resource_version)

    def warned(self, warnings: Sequence[str]) -> "Written":
        """The same with these warnings, each of them once."""
        return replace(self, warnings=tuple(dict.fromkeys(warnings))) if warnings else self

    @classmethod
    def of(cls, record: Record, **more: object) -> "Written":
        return cls(record.body, record.resource_version, record.header, **more)  # type: ignore[arg-type]
