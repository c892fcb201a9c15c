"""What the watch cache costs per event, per list and per claim. Run with `pytest -m bench -s`."""

import time
from collections.abc import Callable

import pytest

from apis.meta.transaction import Header, Record, encode_body
from storage.cache.fanout import Fanout
from storage.cache.ordered import Ordered
from storage.cache.watch_cache import WatchCache
from storage.claims import Claims
from storage.interface import RawEvent
from tests.storage_kit import EXTRACTS, SHOOTS, shoot_key

pytestmark = pytest.mark.bench

OBJECTS = 5_000


def _shoot(number: int, revision: int, position: int = 0) -> Record:
    """About 2 KB, in no order of keys."""
    key = shoot_key(f"shoot-{number * 7919 % 100_003:06d}")
    spec = {"binding": "trial", "filler": ["x" * 50] * 36}
    metadata = {"name": key.rsplit("/", 1)[1], "namespace": "garden-core", "labels": {"a": "b"}}
    body = encode_body({"apiVersion": "v1", "kind": "Shoot", "metadata": metadata, "spec": spec})
    return Record(key, revision, position, body, Header(charge={"cpu": "4"}))


def _report(what: str, times: int, work: Callable[[], object]) -> None:
    start = time.process_time()
    work()
    micros = (time.process_time() - start) * 1e6 / times
    print(f"{what}: {micros:.1f} µs")  # noqa: T201


def test_events() -> None:
    cache = WatchCache(EXTRACTS)
    cache.load(1, [_shoot(number, 1) for number in range(OBJECTS)])
    fanout = Fanout(cache)
    batches = [
        (revision, [RawEvent(r.key, r, revision, r.position) for r in records])
        for revision in range(2, 102)
        for records in [[_shoot(OBJECTS + revision * 50 + n, revision, n) for n in range(50)]]
    ]

    def apply() -> None:
        for revision, events in batches:
            fanout.publish(cache.apply(revision, events))

    _report("event of a new object", 5_000, apply)


def test_lists() -> None:
    cache = WatchCache(EXTRACTS)
    cache.load(1, [_shoot(number, 1) for number in range(OBJECTS)])
    _report("object of a list", OBJECTS, lambda: cache.entries(SHOOTS))
    records = [entry.record for entry in cache.entries(SHOOTS)]
    _report("object of a joined list", OBJECTS, lambda: b",".join([r.json() for r in records]))


def test_insertions_among_many() -> None:
    ordered: Ordered[int] = Ordered()
    ordered.load((f"{number:09d}", number) for number in range(0, 500_000, 10))

    def insert() -> None:
        for number in range(5, 500_000, 100):
            ordered.put(f"{number:09d}", number)

    _report("insertion among 50,000", 5_000, insert)


def test_claims() -> None:
    claims = Claims()

    def claim() -> None:
        for _ in range(10_000):
            held = claims.try_claim(("a", "b", "c"), ("d", "e", "f"))
            assert held is not None
            held.release()

    _report("claim of six keys", 10_000, claim)
