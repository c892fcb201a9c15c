"""What this process stored is recognised when the watch delivers it, and nothing else is."""

from apis.meta.transaction import Header, Record
from storage.etcd import own, records
from storage.etcd.own import OwnRecords

MARK = records.mark_of(records.mark(3, b"0123456789abcdef"))
OTHER = records.mark_of(records.mark(3, b"fedcba9876543210"))


def record(key: str = "key", revision: int = 7) -> Record:
    return Record(key, revision, 3, b"{}")


def kept(*stored: Record) -> OwnRecords:
    found = OwnRecords()
    for each in stored:
        found.keep(each, MARK)
    return found


def test_what_comes_back_as_it_was_stored_is_the_same_record_once() -> None:
    stored = record()
    mine = kept(stored)

    assert mine.take("key", 7, MARK) is stored
    assert mine.take("key", 7, MARK) is None


def test_the_value_of_another_history_at_the_same_revision_is_not_taken_for_ones_own() -> None:
    assert kept(record()).take("key", 7, OTHER) is None


def test_an_earlier_value_does_not_use_up_what_is_still_to_come() -> None:
    stored = record()
    mine = kept(stored)

    assert mine.take("key", 6, OTHER) is None
    assert mine.take("key", 7, MARK) is stored


def test_a_later_value_means_that_ones_own_was_missed() -> None:
    mine = kept(record())

    assert mine.take("key", 8, OTHER) is None
    assert mine.take("key", 7, MARK) is None


def test_the_oldest_are_forgotten_where_nothing_comes_back() -> None:
    stored = [record(f"key-{n}") for n in range(own._BOUND + 1)]
    mine = kept(*stored)

    assert mine.take("key-0", 7, MARK) is None
    assert mine.take("key-1", 7, MARK) is stored[1]


def test_what_the_watch_delivered_before_the_answer_came_is_not_kept() -> None:
    mine = OwnRecords()

    assert mine.take("key", 7, MARK) is None
    mine.keep(record(), MARK)
    assert len(mine._records) == 0


def test_a_watch_that_begins_anew_forgets_what_it_will_not_deliver() -> None:
    later = record("later", 8)
    mine = kept(record("earlier", 7), later)

    mine.follow(7)

    assert list(mine._records) == ["later"]
    assert mine.take("later", 8, MARK) is later


def test_a_restored_etcd_gives_revisions_out_again() -> None:
    mine = OwnRecords()
    mine.take("key", 9, MARK)

    mine.follow(5)
    mine.keep(record(revision=7), MARK)

    assert mine.take("key", 7, MARK) is not None


def test_headers_are_shared_with_each_other_and_with_what_is_decoded() -> None:
    made = [
        Record(f"key-{n}", 7, 3, b"{}", Header(charge={"cpu": "1"}, prices={})) for n in range(2)
    ]
    mine = kept(*made)
    value = records.mark(3, b"0123456789abcdef") + records.remainder(made[0].header, b"{}")

    taken = [mine.take(record.key, 7, MARK) for record in made]

    assert taken == made
    assert taken[0] is not None
    assert taken[1] is not None
    assert taken[0].header is taken[1].header
    assert taken[0].header is records.decode("key-0", 7, value).header
