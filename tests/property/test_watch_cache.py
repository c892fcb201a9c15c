"""The watch cache against a plain list of everything that happened."""

import asyncio
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from apis.meta.keys import quota_references_key, resource_prefix
from apis.meta.transaction import Delete, Record, Transaction
from quotaapi.endpoints.frames import change
from storage.cache.watch_cache import WatchCache
from storage.interface import Event, Expired, ListOptions, Predicate, RawEvent
from storage.stack import Limits, Stack
from storage.versioner import list_version, revision_of
from tests.fakes.memory_backend import MemoryBackend
from tests.storage_kit import EXTRACTS, a_put, a_record, running, shoot_key, take

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


def _types(model: Model, prefix: str, since: int, team: str | None) -> list[tuple[int, str, str]]:
    """As `Model.later`, with the types that a watcher is told."""
    selected = _by_team(team)

    def is_in(record: Record | None) -> bool:
        if record is None:
            return False
        return selected is None or selected(EXTRACTS["shoots"](record.key, record.object()))

    names = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}
    return [
        (at, key, names[is_in(before), is_in(after)])
        for at, key, after, before in model.log
        if at > since and key.startswith(prefix) and (is_in(after) or is_in(before))
    ]


def _transaction(
    backend: MemoryBackend, model: Model, writes: dict[str, str | None]
) -> Transaction | None:
    """What makes one more revision of the backend, and has made it of the model; None where there is
    nothing to write."""
    real = {key: team for key, team in writes.items() if team is not None or key in model.state}
    if not real:
        return None
    model.revision(backend.revision + 1, real)
    puts = [
        Delete(key) if team is None else a_put(key, labels={"team": team})
        for key, team in real.items()
    ]
    return Transaction({}, puts)


@settings(max_examples=30)
@given(
    before=revisions,
    after=revisions,
    team=st.sampled_from([None, "red"]),
    size=st.integers(1, 4),
    compacted=st.integers(0, 12),
)
def test_before_the_window_history_tells_exactly_the_later_events_until_it_is_compacted(
    before: list[dict[str, str | None]],
    after: list[dict[str, str | None]],
    team: str | None,
    size: int,
    compacted: int,
) -> None:
    """A server that starts in the middle: whatever its window has, only what is compacted is gone."""
    model, backend = Model(), MemoryBackend()
    for writes in before:
        if (transaction := _transaction(backend, model, writes)) is not None:
            backend.write(transaction)

    async def resume() -> None:
        limits = Limits(window_events=size)
        async with running(backend, backend.commit, limits=limits) as stack:
            for writes in after:
                if (transaction := _transaction(backend, model, writes)) is not None:
                    await backend.commit(transaction)
            await stack.reader.current_version()
            backend.compact(min(compacted, stack.cache.revision))
            for since in sorted({1999, *(at for at, *_ in model.log), stack.cache.version}):
                for prefix in PREFIXES:
                    expected = _types(model, prefix, since, team)
                    predicate = _by_team(team)
                    async with stack.reader.watch(prefix, since, predicate) as watch:
                        try:
                            events = await take(watch, len(expected))
                            assert await watch.next(0) in ([], ())
                        except Expired:
                            # Inside a revision, the one before it is needed, too.
                            whole = revision_of(since + 1) - 1
                            assert whole < backend.compacted
                            continue
                    seen = [
                        (e.resource_version, e.record.key, change(e, predicate)) for e in events
                    ]
                    assert seen == expected

    asyncio.run(resume())


async def _paged(stack: Stack, prefix: str, options: ListOptions) -> list[tuple[str, int]]:
    """Keys and versions of all pages of a list at an exact version."""
    version = options.resource_version
    seen: list[tuple[str, int]] = []
    while True:
        page = await stack.reader.list(prefix, options)
        assert page.resource_version == version
        seen += [(each.key, each.resource_version) for each in page.records]
        if not page.continue_token:
            return seen
        options = ListOptions(limit=options.limit, continue_token=page.continue_token)


@settings(max_examples=30)
@given(before=revisions, after=revisions, limit=st.integers(0, 2), size=st.integers(1, 4))
def test_an_exact_list_is_the_state_at_its_version(
    before: list[dict[str, str | None]],
    after: list[dict[str, str | None]],
    limit: int,
    size: int,
) -> None:
    """Inside a transaction, too, and page by page."""
    model, backend = Model(), MemoryBackend()
    for writes in before:
        if (transaction := _transaction(backend, model, writes)) is not None:
            backend.write(transaction)

    async def ask() -> None:
        limits = Limits(window_events=size)
        async with running(backend, backend.commit, limits=limits) as stack:
            for writes in after:
                if (transaction := _transaction(backend, model, writes)) is not None:
                    await backend.commit(transaction)
            await stack.reader.current_version()
            state: dict[str, int] = {}
            for version, changed, record, _ in model.log:
                if record is None:
                    del state[changed]
                else:
                    state[changed] = version
                for prefix in PREFIXES[:2]:
                    options = ListOptions(resource_version=version, match="Exact", limit=limit)
                    seen = await _paged(stack, prefix, options)
                    expected = [
                        (key, state[key]) for key in sorted(state) if key.startswith(prefix)
                    ]
                    assert seen == expected

    asyncio.run(ask())
