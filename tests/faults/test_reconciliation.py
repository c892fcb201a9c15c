"""The reckoning itself finds what it is there to find."""

import pytest

from tests.builders import a_shoot, a_worker
from tests.faults.promises import LABEL, Promises
from tests.harness.api import Answer, Object


def stored(name: str, *, size: int = 1, token: str = "t") -> Object:
    shoot = a_shoot(name=name, workers=[a_worker(maximum=size)])
    shoot["metadata"]["labels"] = {LABEL: token}
    return shoot


def answer(status: int) -> Answer:
    return Answer(status, {"details": {"retryAfterSeconds": 1}})


@pytest.mark.parametrize(
    ("told", "exists", "right"),
    [
        (answer(201), True, True),
        (answer(201), False, False),
        (answer(403), False, True),
        (answer(403), True, False),
        (answer(503), True, False),
        (answer(504), True, True),
        (answer(504), False, True),
        (ConnectionError(), True, True),
        (ConnectionError(), False, True),
        (answer(409), False, False),
        (answer(500), False, False),
    ],
)
def test_what_a_create_was_told_has_to_be_so(
    told: Answer | Exception, exists: bool, right: bool
) -> None:
    promises = Promises()
    promises.created("one", "t", 1, told)

    assert (promises.reconcile([stored("one")] if exists else []) == []) is right


@pytest.mark.parametrize(
    ("told", "size", "right"),
    [
        (answer(200), 3, True),
        (answer(200), 1, False),
        (answer(403), 1, True),
        (answer(403), 3, False),
        (answer(504), 1, True),
        (answer(504), 3, True),
        (answer(504), None, False),
    ],
)
def test_what_an_update_was_told_has_to_be_so(told: Answer, size: int | None, right: bool) -> None:
    promises = Promises()
    promises.created("one", "t", 1, answer(201))
    promises.resized("one", 3, told)

    found = [stored("one", size=size)] if size is not None else []
    assert (promises.reconcile(found) == []) is right


def test_what_was_deleted_is_gone_and_what_nobody_asked_for_is_not_there() -> None:
    promises = Promises()
    promises.created("one", "t", 1, answer(201))
    promises.deleted("one", answer(200))

    assert promises.reconcile([]) == []
    assert promises.reconcile([stored("one")])
    assert promises.reconcile([stored("other")])


def test_an_object_of_another_request_is_no_success() -> None:
    promises = Promises()
    promises.created("one", "t", 1, answer(201))

    assert promises.reconcile([stored("one", token="another")])
