from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from admission.metering.lifetimes import Life, Verdict, life_of, on_create, on_update
from apis.garden.v1beta1.shoot import CREATION_TIME, EXPIRATION
from tests.admission_examples import a_quota

CREATED = datetime(2019, 4, 1, 12, tzinfo=UTC)
LATEST = "2019-04-15T12:00:00Z"
"""Creation plus fourteen days."""
BEYOND = "2019-04-15T12:00:01Z"
PATH = f"metadata.annotations[{EXPIRATION}]"
FORTNIGHT = Life(("garden-trial", "fortnight"), 14)
MONTH = Life(("garden-trial", "month"), 30)


def annotations(expires: str | None = None, began: str | None = None) -> dict[str, str]:
    given = {EXPIRATION: expires, CREATION_TIME: began}
    return {name: value for name, value in given.items() if value is not None}


def created(*lives: Life, **given: str) -> Verdict:
    return on_create(annotations(**given), created=CREATED, lives=lives or (FORTNIGHT,))


def updated(
    old: dict[str, str], new: dict[str, str], lives: Sequence[Life] = (FORTNIGHT,)
) -> Verdict:
    return on_update(new, old, created=CREATED, lives=lives)


def expiring(expires: str) -> Verdict:
    return Verdict({EXPIRATION: expires})


def fields_of(verdict: Verdict) -> list[str]:
    return [error.field for error in verdict.errors]


def beyond(verdict: Verdict) -> list[str]:
    """The quotas whose life is exceeded; nothing else is wrong."""
    assert verdict.errors == ()
    return [item.quota[1] for item in verdict.beyond]


def test_a_quota_without_a_lifetime_lends_no_life() -> None:
    assert life_of(a_quota("a")) is None
    assert life_of(a_quota("a", days=30)) == Life(("garden-trial", "a"), 30)


def test_a_new_shoot_expires_the_shortest_lifetime_after_its_creation() -> None:
    assert created(MONTH, FORTNIGHT) == expiring(LATEST)


def test_a_new_shoot_without_a_lifetime_does_not_expire() -> None:
    assert on_create({}, created=CREATED, lives=()) == Verdict()


def test_a_new_shoot_may_expire_earlier() -> None:
    assert created(expires="2019-04-02T00:00:00+02:00") == Verdict()


def test_a_new_shoot_that_is_to_expire_later_is_its_sponsors_to_allow() -> None:
    assert beyond(created(expires=LATEST)) == []
    assert beyond(created(expires=BEYOND)) == ["fortnight"]
    assert beyond(created(MONTH, FORTNIGHT, expires=BEYOND)) == ["fortnight"]
    assert beyond(created(MONTH, FORTNIGHT, expires="2020-01-01T00:00:00Z")) == [
        "fortnight",
        "month",
    ]


def test_a_refusal_names_the_quota_and_its_end() -> None:
    [item] = created(expires=BEYOND).beyond
    assert item.refusal.field == PATH
    assert item.refusal.message == (
        f'Invalid value: "{BEYOND}": must not be later than 2019-04-15T12:00:00Z, '
        "the creation plus 14 days (clusterLifetimeDays of quota garden-trial/fortnight), "
        "unless set by who may update this quota"
    )


@pytest.mark.parametrize("lives", [(FORTNIGHT,), ()])
def test_an_unreadable_expiration_is_refused_on_create(lives: Sequence[Life]) -> None:
    verdict = on_create({EXPIRATION: "tomorrow"}, created=CREATED, lives=lives)
    assert fields_of(verdict) == [PATH]


def test_an_earlier_creation_time_shortens_the_life() -> None:
    assert created(began="2019-03-31T12:00:00Z") == expiring("2019-04-14T12:00:00Z")


def test_a_later_creation_time_does_not_lengthen_it() -> None:
    assert created(began="2030-01-01T00:00:00Z") == expiring(LATEST)


def test_an_unreadable_creation_time_is_refused_on_create() -> None:
    assert fields_of(created(began="x")) == [f"metadata.annotations[{CREATION_TIME}]"]


def test_a_given_expiration_is_bounded_by_the_creation_time() -> None:
    assert beyond(created(began="2019-03-31T12:00:00Z", expires=LATEST)) == ["fortnight"]


def test_a_member_may_set_it_earlier_and_later_again_up_to_a_lifetime_from_the_creation() -> None:
    earlier = "2019-04-02T00:00:00Z"
    assert updated(annotations(LATEST), annotations(earlier)) == Verdict()
    assert beyond(updated(annotations(earlier), annotations(LATEST))) == []
    assert beyond(updated(annotations(earlier), annotations(BEYOND))) == ["fortnight"]


def test_it_may_be_set_earlier_though_it_stays_beyond_the_lifetime() -> None:
    old, new = annotations("2029-01-02T00:00:00Z"), annotations("2029-01-01T00:00:00Z")
    assert updated(old, new) == Verdict()


def test_leaving_it_out_keeps_it() -> None:
    assert updated(annotations(LATEST), {}) == expiring(LATEST)


def test_without_a_lifetime_it_may_be_removed_and_set_at_will() -> None:
    assert updated(annotations(LATEST), {}, ()) == Verdict()
    assert updated(annotations(LATEST), annotations("2099-01-01T00:00:00Z"), ()) == Verdict()


def test_an_unreadable_or_late_old_value_never_blocks() -> None:
    for old in ("garbage", "2099-01-01T00:00:00Z"):
        assert updated(annotations(old), annotations(old)) == Verdict()
        assert updated(annotations(old), annotations(LATEST)) == Verdict()
    assert updated(annotations("garbage"), {}) == expiring("garbage")


def test_an_unreadable_new_value_is_refused() -> None:
    assert fields_of(updated(annotations(LATEST), annotations("garbage"))) == [PATH]


def test_it_is_set_for_the_first_time_within_a_lifetime_from_the_creation() -> None:
    assert beyond(updated({}, annotations(LATEST))) == []
    assert beyond(updated({}, annotations(BEYOND))) == ["fortnight"]


def test_an_update_honours_the_stored_creation_time_and_the_new_one() -> None:
    moved = "2019-03-31T12:00:00Z"
    earlier = "2019-04-02T00:00:00Z"
    old, new = annotations(earlier, moved), annotations(LATEST, moved)
    assert beyond(updated(old, new)) == ["fortnight"]
    assert beyond(updated(annotations(earlier), new)) == ["fortnight"]
    assert beyond(updated(old, annotations("2019-04-14T12:00:00Z", moved))) == []


def test_a_creation_time_stays_and_never_moves_forward() -> None:
    moved = "2019-03-31T12:00:00Z"
    assert updated(annotations(LATEST, moved), annotations(LATEST)) == Verdict(
        {CREATION_TIME: moved}
    )
    later = updated(annotations(LATEST, moved), annotations(LATEST, "2019-03-31T12:00:01Z"))
    assert fields_of(later) == [f"metadata.annotations[{CREATION_TIME}]"]
    earlier = updated(annotations(LATEST, moved), annotations(LATEST, "2019-03-30T12:00:00Z"))
    assert earlier == Verdict()
    unreadable = updated(annotations(LATEST, "x"), annotations(LATEST, moved))
    assert unreadable == Verdict()


def test_a_lifetime_beyond_the_calendar_ends_with_it() -> None:
    assert created(Life(("ns", "a"), 10**7)) == expiring("9999-12-31T23:59:59Z")
