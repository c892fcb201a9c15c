"""However watchers come, go, and fall behind: each is told every event once, in order."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from apis.meta import codec
from storage.cache.fanout import Fanout
from storage.cache.watch_cache import WatchCache
from storage.interface import Delivery, Event, Facts
from tests.storage_kit import EXTRACTS, SHOOTS, put_event, shoot_key, versions

KEYS = [shoot_key(name, namespace) for namespace in ("a", "b") for name in ("x", "y")]
PREFIXES = (SHOOTS, f"{SHOOTS}a/")
LAST = shoot_key("last", "a")


def _red(facts: Facts) -> bool:
    return facts.labels.get("team") == "red"


class Client:
    """A watch, as the endpoint carries it out. `got` has what came on either way."""

    def __init__(self, fanout: Fanout, since: int, prefix: str, *, selects: bool) -> None:
        self.ready = True
        self.last = 10**9
        self.got: list[int] = []
        self.since = since
        self.prefix = prefix
        self.predicate = _red if selects else None
        self._watcher = fanout.join(prefix, since, self.predicate)
        self._interrupt: asyncio.Timeout | None = None
        self.task = asyncio.ensure_future(self._run())

    def write(self, data: bytes) -> None:
        assert self.ready
        self.got += codec.decode_json(data).value

    def interrupt(self) -> None:
        """As when a bookmark is due."""
        if self._interrupt is not None and not self._interrupt.expired():
            self._interrupt.reschedule(asyncio.get_running_loop().time())

    async def _run(self) -> None:
        self._watcher.deliver(Delivery(self, "form", _encoded))
        while not self.got or self.got[-1] < self.last:
            try:
                async with asyncio.timeout(None) as self._interrupt:
                    events = await self._watcher.next(0.005)
            except TimeoutError:
                events = ()
            finally:
                self._interrupt = None
            self.got += versions(events)
            await asyncio.sleep(0)  # writing may take a while
            before = self._watcher.progress
            assert before >= max(self.got, default=self.since)


def _encoded(events: Sequence[Event]) -> bytes:
    return codec.encode(versions(events))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("event"), st.integers(0, 3), st.booleans()),
        st.tuples(st.just("watch"), st.integers(0, 1), st.booleans()),
        st.tuples(st.just("full"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("interrupt"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("turns"), st.integers(1, 4), st.booleans()),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.sampled_from((0.0, 0.0003, 0.003)))
def test_every_watcher_is_told_each_event_once_and_in_order(
    steps: list[tuple[str, int, bool]], clock_step: float
) -> None:
    asyncio.run(_carry_out(steps, clock_step))


async def _carry_out(steps: list[tuple[str, int, bool]], clock_step: float) -> None:
    scene = Scene(clock_step)
    for what, number, flag in steps:
        if what == "turns":
            for _ in range(number):
                await asyncio.sleep(0)
        else:
            scene.step(what, number, flag=flag)
    scene.end()
    async with asyncio.timeout(10):
        await asyncio.gather(*(client.task for client in scene.clients))
    for client in scene.clients:
        assert client.got == [
            event.resource_version
            for event in scene.history
            if event.resource_version > client.since
            and event.record.key.startswith(client.prefix)
            and (client.predicate is None or _seen(event))
        ]


class Scene:
    """A cache, its history, and those who watch."""

    def __init__(self, clock_step: float) -> None:
        self._now, self._clock_step = 0.0, clock_step
        self._cache = WatchCache(EXTRACTS)
        self._cache.load(1, ())
        self._fanout = Fanout(self._cache, monotonic=self._monotonic)
        self.clients: list[Client] = []
        self.history: list[Event] = []

    def _monotonic(self) -> float:
        self._now += self._clock_step
        return self._now

    def step(self, what: str, number: int, *, flag: bool) -> None:
        if what == "event":
            self._event(KEYS[number], red=flag)
        elif what == "watch":
            version = self._cache.version  # from the present, or from some revisions ago
            since = version if flag else max(1999, version - 2000)
            self.clients.append(Client(self._fanout, since, PREFIXES[number], selects=flag))
        elif number < len(self.clients):
            if what == "full":
                self.clients[number].ready = not flag
            else:
                self.clients[number].interrupt()

    def end(self) -> None:
        """The last event concerns everybody, and everybody takes it."""
        for client in self.clients:
            client.last = (self._cache.revision + 1) * 1000
            client.ready = True
        self._event(LAST, red=True)

    def _event(self, key: str, *, red: bool) -> None:
        labels = {"team": "red" if red else "blue"}
        revision = self._cache.revision + 1
        events = self._cache.apply(revision, [put_event(key, revision, labels=labels)])
        self.history += events
        self._fanout.publish(events)


def _seen(event: Event) -> bool:
    return any(_red(facts) for facts in (event.facts, event.previous) if facts is not None)
