"""The look-aside: the later of two revisions wins, and what the cache has passed is gone."""

from apis.meta.transaction import Snapshot
from storage.lookaside import LookAside
from tests.storage_kit import a_record


class _Cache:
    revision = 10


def _seen(revision: int) -> Snapshot:
    return Snapshot("a", a_record("a", revision))


def test_an_entry_later_than_the_cache_is_answered_until_the_cache_passes_it() -> None:
    cache = _Cache()
    lookaside = LookAside(lambda: cache.revision)
    lookaside.learn(12, _seen(12))
    assert lookaside.later_than_cache("a") == _seen(12)
    cache.revision = 11
    assert lookaside.later_than_cache("a") == _seen(12)
    cache.revision = 12
    assert lookaside.later_than_cache("a") is None


def test_a_tombstone_counts_with_the_revision_of_the_delete() -> None:
    lookaside = LookAside(lambda: 10)
    lookaside.learn(12, _seen(12))
    lookaside.learn(13, Snapshot("a", None))
    assert lookaside.later_than_cache("a") == Snapshot("a", None)


def test_something_older_than_what_is_known_is_ignored() -> None:
    lookaside = LookAside(lambda: 10)
    lookaside.learn(13, _seen(13))
    lookaside.learn(12, Snapshot("a", None))
    assert lookaside.later_than_cache("a") == _seen(13)


def test_revisions_are_compared_as_integers() -> None:
    lookaside = LookAside(lambda: 9)
    lookaside.learn(10, _seen(10))
    assert lookaside.later_than_cache("a") == _seen(10)


def test_passed_entries_are_dropped_and_the_others_stay() -> None:
    cache = _Cache()
    lookaside = LookAside(lambda: cache.revision)
    for number in range(11, 16):
        lookaside.learn(number, Snapshot(str(number), None))
    cache.revision = 13
    lookaside.drop_passed()
    assert len(lookaside) == 2
    assert lookaside.known("14") is not None


def test_what_the_cache_has_is_not_kept() -> None:
    lookaside = LookAside(lambda: 10)
    lookaside.learn(10, _seen(10))
    assert len(lookaside) == 0


def test_beyond_the_bound_the_oldest_goes() -> None:
    lookaside = LookAside(lambda: 10, bound=2)
    for number in (11, 12, 13):
        lookaside.learn(number, Snapshot(str(number), None))
    assert lookaside.known("11") is None
    assert len(lookaside) == 2
