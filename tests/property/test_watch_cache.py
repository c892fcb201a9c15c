"""The watch cache against a plain list of everything that happened."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from apis.meta.keys import quota_references_key, resource_prefix
from apis.meta.transaction import Record
from storage.cache.watch_cache import WatchCache
from storage.interface import Event, Predicate, RawEvent
from storage.versioner import list_version
from tests.storage_kit import EXTRACTS, a_record, shoot_key

NAMESPACES = ("garden-a", "garden-ab", "garden-b")
KEYS = [shoot_key(name, namespace) for namespace in NAMESPACES for name in ("x", "y", "z")] + [
    "garden.sapcloud.io/cloudprofiles/aws",
    quota_references_key("garden-a", "q"),
]
PREFIXES = [
    resource_prefix("shoots"),
    *(resource_prefix("shoots", namespace) for namespace in NAMESPACES),
    resource_prefix("cloudprofiles"),
]


@dataclass
class Model:
    """All events ever, and the present state, in the plainest form."""

    state: dict[str, Record] = field(default_factory=dict)
    # (version, key, record after, record before)
    log: list[tuple[int, str, Record | None, Record | None]] = field(default_factory=list)

    def revision(self, number: int, writes: dict[str, str | None]) -> list[RawEvent]:
        """Apply writes (None: remove) as one revision; answers its events."""
        events: list[RawEvent] = []
        for key, team in writes.items():
            before = self.state.get(key)
            if team is None and before is None:
                continue
            position = len(events)
            after = None
            if team is None:
                del self.state[key]
            else:
                after = a_record(
                    key, number, position, labels={"team": team}, binding=f"binding-{team}"
                )
                self.state[key] = after
            events.append(RawEvent(key, after, number, position))
            self.log.append((number * 1000 + position, key, after, before))
        return events

    def later(self, prefix: str, since: int, team: str | None) -> list[tuple[int, str]]:
        def selected(record: Record | None) -> bool:
            if record is None:
                return False
            return team is None or record.object()["metadata"]["labels"]["team"] == team

        return [
            (at, key)
            for at, key, after, before in self.log
            if at > since and key.startswith(prefix) and (selected(after) or selected(before))
        ]


def _by_team(team: str | None) -> Predicate | None:
    return None if team is None else lambda facts: facts.labels.get("team") == team


def _seen(events: list[Event] | None) -> list[tuple[int, str]]:
    assert events is not None
    return [(event.resource_version, event.record.key) for event in events]


revisions = st.lists(
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["red", "blue", None]), max_size=5),
    max_size=12,
)


@given(before=revisions, after=revisions, team=st.sampled_from([None, "red"]))
def test_every_version_is_resumed_with_exactly_the_later_events(
    before: list[dict[str, str | None]], after: list[dict[str, str | None]], team: str | None
) -> None:
    model, cache = Model(), WatchCache(EXTRACTS)
    for number, writes in enumerate(before, 2):
        model.revision(number, writes)
    start = len(before) + 1
    cache.load(start, model.state.values())
    for number, writes in enumerate(after, start + 1):
        cache.apply(number, model.revision(number, writes))

    seen_versions = {at for at, *_ in model.log if at > list_version(start)}
    lists = {list_version(number) for number in range(start, start + len(after) + 1)}
    for since in sorted(seen_versions | lists):
        for prefix in PREFIXES:
            events = cache.events_after(prefix, since, _by_team(team))
            assert _seen(events) == model.later(prefix, since, team)


@given(before=revisions, after=revisions)
def test_state_order_and_indexes_are_those_of_the_model(
    before: list[dict[str, str | None]], after: list[dict[str, str | None]]
) -> None:
    model, cache = Model(), WatchCache(EXTRACTS)
    for number, writes in enumerate(before, 2):
        model.revision(number, writes)
    start = len(before) + 1
    cache.load(start, model.state.values())
    for number, writes in enumerate(after, start + 1):
        cache.apply(number, model.revision(number, writes))

    for prefix in PREFIXES:
        expected = [model.state[key] for key in sorted(model.state) if key.startswith(prefix)]
        assert [entry.record for entry in cache.entries(prefix)] == expected
    for key in KEYS:
        assert cache.record(key) == model.state.get(key)
    for team in ("red", "blue"):
        expected = [
            model.state[key]
            for key in sorted(model.state)
            if key.startswith(resource_prefix("shoots"))
            and model.state[key].object()["spec"]["binding"] == f"binding-{team}"
        ]
        assert cache.by_index("shoots", "binding", f"binding-{team}") == expected


@given(after=revisions, size=st.integers(1, 4))
def test_a_window_that_dropped_events_refuses_the_versions_before_them(
    after: list[dict[str, str | None]], size: int
) -> None:
    model, cache = Model(), WatchCache(EXTRACTS, window=size)
    cache.load(1, ())
    for number, writes in enumerate(after, 2):
        cache.apply(number, model.revision(number, writes))

    for prefix in PREFIXES:
        for since in [1999, *(at for at, *_ in model.log)]:
            events = cache.events_after(prefix, since)
            if events is not None:
                assert _seen(events) == model.later(prefix, since, None)
        newest = cache.events_after(prefix, cache.version)
        assert newest == []


@given(after=revisions)
def test_a_revision_delivered_again_changes_nothing(after: list[dict[str, str | None]]) -> None:
    model, cache = Model(), WatchCache(EXTRACTS)
    cache.load(1, ())
    for number, writes in enumerate(after, 2):
        events = model.revision(number, writes)
        cache.apply(number, events)
        assert cache.apply(number, events) == []

    everything = cache.events_after(resource_prefix("shoots"), 1999)
    assert _seen(everything) == model.later(resource_prefix("shoots"), 1999, None)
