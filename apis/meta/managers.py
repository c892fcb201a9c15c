"""Managers and their entries in `managedFields`: names, identity, order, number, and how a client's
own entries are read."""

from typing import Any, Final

from apis.meta import fieldset, names
from apis.meta.fieldset import FieldSet
from apis.meta.structure import ABSENT
from apis.meta.times import format_rfc3339, parse_rfc3339

Entry = dict[str, Any]
Entries = list[Entry]

UPDATE: Final = "Update"
APPLY: Final = "Apply"

MAX_UPDATE_MANAGERS: Final = 10
"""Entries of operation Update that are kept apart; older ones are merged."""

ANCIENT: Final = "ancient-changes"
"""Whose entry they are merged into."""

MAX_MANAGER_BYTES: Final = 128

_TYPES: Final[dict[str, type]] = {
    "manager": str, "operation": str, "apiVersion": str, "time": str, "fieldsType": str,
    "fieldsV1": dict, "subresource": str,
}  # fmt: skip


def manager_name(field_manager: str, user_agent: str) -> str:
    """What the client called itself, else its program's name: User-Agent up to the slash."""
    if field_manager:
        return field_manager
    name = user_agent.partition("/")[0]
    printable = "".join(char for char in name if char.isprintable())
    # A cut must not split a character.
    return printable.encode()[:MAX_MANAGER_BYTES].decode(errors="ignore")


def identity(entry: Entry) -> tuple[str, str, str, str]:
    operation = entry["operation"]
    version = "" if operation == APPLY else entry["apiVersion"]
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def in_order(entries: Entries) -> Entries:
    """Appliers first; then by time, to the second, and by name."""
    if len(entries) < 2:
        return entries
    return sorted(
        entries,
        key=lambda entry: (
            entry["operation"],
            entry.get("time", ""),
            entry.get("manager", ""),
            entry["apiVersion"],
            entry.get("subresource", ""),
        ),
    )


def capped(entries: Entries) -> Entries:
    """At most MAX_UPDATE_MANAGERS entries of updates: the oldest become one, per API version."""
    updates = [entry for entry in entries if entry["operation"] == UPDATE]
    surplus = len(updates) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return entries
    updates.sort(key=lambda entry: (entry.get("time", ""), *_identity_text(entry)))
    kept = [entry for entry in entries if entry["operation"] != UPDATE]
    buckets = {entry["apiVersion"]: entry for entry in updates if _is_ancient(entry)}
    rest: Entries = []
    for entry in updates:
        version = entry["apiVersion"]
        if _is_ancient(entry):
            continue
        if version not in buckets:
            buckets[version] = entry
        elif surplus > 0:
            surplus -= 1
            buckets[version] = _merged_ancient(buckets[version], entry)
        else:
            rest.append(entry)
    return [*kept, *buckets.values(), *rest]


def _is_ancient(entry: Entry) -> bool:
    return entry.get("manager") == ANCIENT and not entry.get("subresource")


def _merged_ancient(bucket: Entry, entry: Entry) -> Entry:
    """Of the time of the later of the two."""
    fields = fieldset.union(entry["fieldsV1"], bucket["fieldsV1"])
    merged = {**bucket, "manager": ANCIENT, "fieldsV1": fields}
    merged.pop("subresource", None)
    if "time" in entry:
        merged["time"] = max(entry["time"], bucket.get("time", ""))
    return merged


def timeless(entries: Entries) -> dict[tuple[str, str, str, str], tuple[str, FieldSet]]:
    return {identity(entry): (entry["apiVersion"], entry["fieldsV1"]) for entry in entries}


def _identity_text(entry: Entry) -> tuple[str, ...]:
    manager, operation, version, subresource = identity(entry)
    return manager, operation, version, subresource


# What a client sends


def given_entries(given: Any, stored: Any) -> Entries:
    """The entries to begin with: the client's, where it sent any that can be read.

    `stored` are those of the object as it is, ABSENT for a new one. Answers the very list `stored`
    where those count.
    """
    fallback: Entries = [] if stored is ABSENT else stored
    if given is ABSENT or given is None or given == fallback != []:
        return fallback
    if type(given) is not list:
        return fallback
    if _is_reset(given):
        return []
    try:
        return _read(given)
    except ValueError:
        return fallback


def _is_reset(given: list[Any]) -> bool:
    if not given:
        return True
    return len(given) == 1 and type(given[0]) is dict and not any(given[0].values())


def _read(given: list[Any]) -> Entries:
    """Raises ValueError."""
    entries: dict[tuple[str, str, str, str], Entry] = {}
    for item in given:
        entry = _read_entry(item)
        entries[identity(entry)] = entry
    return in_order(list(entries.values()))


def _read_entry(item: Any) -> Entry:
    if type(item) is not dict:
        raise ValueError("an entry is an object")
    given = {key: value for key, value in item.items() if value is not None}
    if any(key in _TYPES and type(value) is not _TYPES[key] for key, value in given.items()):
        raise ValueError("a field of a wrong type")
    manager, subresource = given.get("manager", ""), given.get("subresource", "")
    if (
        given.get("operation") not in (APPLY, UPDATE)
        or not given.get("apiVersion")
        or given.get("fieldsType") != "FieldsV1"
        or manager_faults(manager)
        or len(subresource) > names.MAX_SUBDOMAIN
    ):
        raise ValueError("no entry of managedFields")
    entry: Entry = {
        "manager": manager,
        "operation": given["operation"],
        "apiVersion": given["apiVersion"],
    }
    if given.get("time"):
        entry["time"] = format_rfc3339(parse_rfc3339(given["time"]))
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fieldset.parse(given.get("fieldsV1", {}))
    if subresource:
        entry["subresource"] = subresource
    return entry


def manager_faults(manager: str) -> list[str]:
    """What is wrong with a manager's name."""
    faults = []
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        faults.append(f"may not be more than {MAX_MANAGER_BYTES} bytes")
    if not manager.isprintable():
        faults.append("should only contain printable characters")
    return faults
