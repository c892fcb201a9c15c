"""An event of etcd's history with the value before it, decoded."""

from collections.abc import Callable

from storage.etcd import records, wire
from storage.interface import Expired, PastEvent, RawEvent


def past_event(relative_key: Callable[[bytes], str], raw: wire.Message, index: int) -> PastEvent:
    """`index`: of the event in its revision. Raises Expired, UnreadableRecord.

    etcd leaves the value before a change out where it is compacted, and says nothing of it. `version`
    counts the changes of a key since it was created: only the first has no value before it.
    """
    kv, before = raw["kv"], raw.get("prev_kv")
    key = relative_key(wire.unb64(kv["key"]))
    revision = wire.number(kv, "mod_revision")
    is_removal = raw.get("type") == "DELETE"
    if before is None and (is_removal or wire.number(kv, "version") != 1):
        raise Expired(f"the value of {key} before revision {revision} is compacted")
    previous = None
    if before is not None:
        value = wire.unb64(before.get("value", ""))
        previous = records.decode(key, wire.number(before, "mod_revision"), value)
    if is_removal:
        return PastEvent(RawEvent(key, None, revision, index), previous)
    record = records.decode(key, revision, wire.unb64(kv.get("value", "")))
    return PastEvent(RawEvent(key, record, revision, record.position), previous)
