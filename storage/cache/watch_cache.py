"""The state of every key under the prefix, and the recent events. Pure: no asyncio, no clock.

It is fed whole revisions, in order, by one caller (`storage.cache.reflector`): first a list at
one revision (`load`), then each revision's events (`apply`). After each call it is the state at
`revision`, and `Window` has every event after its floor; so a watch that resumes at any version
between the two misses nothing.

Objects of the registered resources are listed, indexed and announced. Everything else (ledgers,
the server's own keys, resources of another version of the server) is hidden: kept, because
writers want its newest value, and never announced.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from apis.meta.keys import resource_prefix
from apis.meta.transaction import Record
from storage.cache.resource_store import Entry, ResourceStore
from storage.cache.window import Window
from storage.interface import Event, Extract, Facts, Predicate, RawEvent
from storage.versioner import list_version

WINDOW_EVENTS = 10_000
"""Events kept per resource."""


def store_prefix(key: str) -> str:
    """`group/resource/` of an object's key; of any other key something that is no such prefix."""
    slash = key.find("/")
    return key[: key.find("/", slash + 1) + 1]


class WatchCache:
    """See the module. `revision` 0: nothing has been loaded."""

    def __init__(self, extracts: Mapping[str, Extract], *, window: int = WINDOW_EVENTS) -> None:
        """`extracts`: plural resource name -> how to get an object's facts."""
        self._extracts = {resource_prefix(name): extract for name, extract in extracts.items()}
        self._window_size = window
        self.revision = 0
        self._hidden: dict[str, Record] = {}
        self._stores = {prefix: ResourceStore(of) for prefix, of in self._extracts.items()}
        self._windows = {prefix: Window(window, 0) for prefix in self._extracts}

    # --- feeding -------------------------------------------------------------------------

    def load(self, revision: int, records: Iterable[Record]) -> None:
        """Replace everything by what is stored at `revision`; the windows start empty there."""
        loading = Loading(self._extracts)
        loading.add(records)
        self.adopt(revision, loading)

    def adopt(self, revision: int, loading: "Loading") -> None:
        """As `load`, with what was gathered page by page."""
        self._stores, self._hidden = loading.finish()
        floor = list_version(revision)
        self._windows = {prefix: Window(self._window_size, floor) for prefix in self._extracts}
        self.revision = revision

    def loading(self) -> "Loading":
        return Loading(self._extracts)

    def apply(self, revision: int, raw_events: Sequence[RawEvent]) -> list[Event]:
        """Go on to `revision`; `raw_events` are all of its events. Empty: only time has passed.

        A revision that has been applied is passed over: a resumed watch may deliver it again.
        """
        if revision <= self.revision:
            return []
        events: list[Event] = []
        for raw in raw_events:
            prefix = store_prefix(raw.key)
            store = self._stores.get(prefix)
            if store is None:
                self._apply_hidden(raw)
                continue
            event = self._apply_object(store, raw)
            if event is not None:
                self._windows[prefix].append(event)
                events.append(event)
        self.revision = revision
        return events

    def _apply_hidden(self, raw: RawEvent) -> None:
        if raw.record is None:
            self._hidden.pop(raw.key, None)
        else:
            self._hidden[raw.key] = raw.record

    @staticmethod
    def _apply_object(store: ResourceStore, raw: RawEvent) -> Event | None:
        if raw.record is None:
            last = store.remove(raw.key)
            if last is None:
                return None
            return removed(raw, last.record, last.facts)
        facts = store.facts_of(raw.record)
        last = store.entries.get(raw.key)
        previous = store.put(Entry(raw.record, facts))
        before = last.record if last is not None else None
        return Event(raw.record, facts, previous, before=before)

    # --- asking --------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The version of the state as a list."""
        return list_version(self.revision)

    def record(self, key: str) -> Record | None:
        """Any key, hidden ones too."""
        store = self._stores.get(store_prefix(key))
        if store is None:
            return self._hidden.get(key)
        entry = store.entries.get(key)
        return entry.record if entry is not None else None

    def entries(self, prefix: str, start_after: str = "") -> list[Entry]:
        """The objects under a resource's or namespace's prefix, in key order: a consistent copy."""
        store = self._stores.get(store_prefix(prefix))
        return store.under(prefix, start_after) if store is not None else []

    def by_index(self, resource: str, index: str, value: str, *, limit: int = 0) -> list[Record]:
        store = self._stores.get(resource_prefix(resource))
        return store.by_index(index, value, limit=limit) if store is not None else []

    def events_after(
        self, prefix: str, since: int, predicate: Predicate | None = None
    ) -> list[Event] | None:
        """Events under `prefix` later than version `since`; None where some are gone."""
        window = self._windows.get(store_prefix(prefix))
        if window is None:
            return []
        events = window.after(since)
        if events is None:
            return None
        return [event for event in events if concerns(event, prefix, predicate)]

    def later(self, prefix: str, since: int, most: int) -> list[Event] | None:
        """At most `most` of the resource's events later than version `since`, those outside
        `prefix` too; None where some are gone."""
        window = self._windows.get(store_prefix(prefix))
        return window.after(since, most) if window is not None else []

    def floor(self, prefix: str) -> int:
        """The version after which all events under `prefix` are here."""
        window = self._windows.get(store_prefix(prefix))
        return window.floor if window is not None else 0

    def statistics(self) -> dict[str, int]:
        """Objects and events held, per resource prefix, and hidden keys."""
        numbers = {f"objects:{prefix}": len(s) for prefix, s in self._stores.items()}
        numbers.update((f"events:{prefix}", len(w)) for prefix, w in self._windows.items())
        numbers["hidden"] = len(self._hidden)
        return numbers


def removed(raw: RawEvent, last: Record, facts: Facts) -> Event:
    """The event of a removal: the last value at the version of the removal."""
    record = replace(last, mod_revision=raw.mod_revision, position=raw.position)
    return Event(record, None, facts, before=last)


def concerns(event: Event, prefix: str, predicate: Predicate | None) -> bool:
    """Whether a watcher of `prefix` sees `event`: it matches before or after the change."""
    if not event.record.key.startswith(prefix):
        return False
    return predicate is None or matches(event, predicate)


def matches(event: Event, predicate: Predicate) -> bool:
    """An object that leaves a selection is announced to its watchers as much as one that enters."""
    return (event.facts is not None and predicate(event.facts)) or (
        event.previous is not None and predicate(event.previous)
    )


class Loading:
    """A state in the making: fed page by page, so that the event loop breathes in between."""

    def __init__(self, extracts: Mapping[str, Extract]) -> None:
        self._stores = {prefix: ResourceStore(extract) for prefix, extract in extracts.items()}
        self._entries: dict[str, list[Entry]] = {prefix: [] for prefix in extracts}
        self._hidden: dict[str, Record] = {}

    def add(self, records: Iterable[Record]) -> None:
        for record in records:
            prefix = store_prefix(record.key)
            store = self._stores.get(prefix)
            if store is None:
                self._hidden[record.key] = record
            else:
                self._entries[prefix].append(Entry(record, store.facts_of(record)))

    def finish(self) -> tuple[dict[str, ResourceStore], dict[str, Record]]:
        for prefix, store in self._stores.items():
            store.load(self._entries[prefix])
        return self._stores, self._hidden
