from storage.etcd import records
from storage.etcd.history import Marks

ONE, TWO = b"1" * 16, b"2" * 16


def test_the_newest_guard_whose_mark_is_known_says_whose_history_it_is() -> None:
    marks = Marks()
    marks.note("old", 5, records.mark(0, ONE) + b"}\n{}")
    marks.note("new", 7, records.mark(1, TWO) + b"}\n{}")

    assert marks.newest({"old": 5, "new": 7, "absent": 0}) == ("new", records.mark(1, TWO)[:38])


def test_a_key_that_was_seen_at_another_revision_says_nothing() -> None:
    marks = Marks()
    marks.note("key", 7, records.mark(0, ONE) + b"}\n{}")

    assert marks.newest({"key": 6}) is None


def test_values_of_others_have_no_mark() -> None:
    marks = Marks()
    marks.note("key", 7, b"anything")

    assert marks.newest({"key": 7}) is None
