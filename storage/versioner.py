"""All arithmetic on versions.

    version of an event or record    revision * 1000 + position in its etcd transaction
    version of a list                revision * 1000 + 999: after every event of the revision

Versions are compared as integers. A transaction has fewer than `POSITIONS` writes, so that no
event reaches the position of a list.
"""

from apis.meta.transaction import POSITIONS

LAST_POSITION = POSITIONS - 1
"""The position that no event has: a list's."""


def version(revision: int, position: int) -> int:
    """The version of the event at `position` of `revision`."""
    return revision * POSITIONS + position


def list_version(revision: int) -> int:
    """The version of everything as it is at `revision`."""
    return revision * POSITIONS + LAST_POSITION


def revision_of(version: int) -> int:
    """The etcd revision that `version` lies in."""
    return version // POSITIONS


def position_of(version: int) -> int:
    """The position of `version` in its transaction; `LAST_POSITION` for a list's."""
    return version % POSITIONS
