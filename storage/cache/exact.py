"""Lists at an exact version that lies inside a transaction. Pure.

etcd knows whole revisions. A version is a position in one: the state at it has the revision's events
up to that position, and not the later ones. So these are undone on the state at the revision. Without
that, a list would have objects that are newer than its version, and a watch from there would tell
of them again.
"""

from collections.abc import Iterable, Mapping, Sequence

from apis.meta.transaction import Record
from storage.interface import Event
from storage.versioner import revision_of


def later_in_revision(
    events: Iterable[Event], prefix: str, version: int
) -> dict[str, Record | None]:
    """By key under `prefix`, what was there before the events of the revision of `version` that are
    later than it; None where there was nothing."""
    revision = revision_of(version)
    return {
        event.record.key: event.before
        for event in events
        if event.record.mod_revision == revision
        and event.resource_version > version
        and event.record.key.startswith(prefix)
    }


def undo(records: Sequence[Record], before: Mapping[str, Record | None]) -> list[Record]:
    """`records`, which are in key order, with `before` instead of what they have under its keys."""
    kept = [record for record in records if record.key not in before]
    restored = [record for record in before.values() if record is not None]
    return sorted([*kept, *restored], key=lambda record: record.key)
