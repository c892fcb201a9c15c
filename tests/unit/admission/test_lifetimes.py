from datetime import UTC, datetime, timedelta

import pytest

from admission.metering.lifetimes import (
    CREATION_TIME,
    Verdict,
    lifetime_days,
    on_create,
    on_update,
)
from apis.garden.v1beta1.shoot import EXPIRATION
from tests.admission_examples import a_quota

CREATED = datetime(2019, 4, 1, 12, tzinfo=UTC)
LATEST = "2019-04-15T12:00:00Z"
"""Creation plus fourteen days."""
BEYOND = "2019-04-15T12:00:01Z"
PATH = f"metadata.annotations[{EXPIRATION}]"


def created(days: int | None = 14, **annotations: str) -> Verdict:
    names = {"expires": EXPIRATION, "began": CREATION_TIME}
    given = {names[name]: value for name, value in annotations.items()}
    return on_create(given, created=CREATED, days=days)


def updated(
    old: str | None, new: str | None, *, days: int | None = 14, after: timedelta = timedelta()
) -> Verdict:
    before = {} if old is None else {EXPIRATION: old}
    given = {} if new is None else {EXPIRATION: new}
    return on_update(given, before, now=CREATED + after, days=days)


def fields_of(verdict: Verdict) -> list[str]:
    return [error.field for error in verdict.errors]


def test_the_shortest_lifetime_of_the_quotas_counts() -> None:
    assert lifetime_days([a_quota("a", days=30), a_quota("b"), a_quota("c", days=14)]) == 14


def test_quotas_without_a_lifetime_set_none() -> None:
    assert lifetime_days([a_quota("a"), a_quota("b")]) is None


def test_a_new_shoot_expires_a_lifetime_after_its_creation() -> None:
    assert created() == Verdict(LATEST)


def test_a_new_shoot_without_a_lifetime_does_not_expire() -> None:
    assert created(days=None) == Verdict(None)


def test_a_new_shoot_may_expire_earlier() -> None:
    assert created(expires="2019-04-02T00:00:00+02:00") == Verdict("2019-04-02T00:00:00+02:00")


def test_a_new_shoot_may_not_expire_later() -> None:
    assert created(expires=LATEST).errors == ()
    assert fields_of(created(expires=BEYOND)) == [PATH]


@pytest.mark.parametrize("days", [14, None])
def test_an_unreadable_expiration_is_refused_on_create(days: int | None) -> None:
    assert fields_of(created(days, expires="tomorrow")) == [PATH]


def test_an_earlier_creation_time_shortens_the_life() -> None:
    assert created(began="2019-03-31T12:00:00Z") == Verdict("2019-04-14T12:00:00Z")


def test_a_later_creation_time_does_not_lengthen_it() -> None:
    assert created(began="2030-01-01T00:00:00Z") == Verdict(LATEST)


def test_an_unreadable_creation_time_is_refused_on_create() -> None:
    assert fields_of(created(began="x")) == [f"metadata.annotations[{CREATION_TIME}]"]


def test_a_given_expiration_is_bounded_by_the_creation_time() -> None:
    assert fields_of(created(began="2019-03-31T12:00:00Z", expires=LATEST)) == [PATH]


def test_a_member_may_set_it_earlier() -> None:
    assert updated(LATEST, "2019-04-02T00:00:00Z") == Verdict("2019-04-02T00:00:00Z")


def test_a_member_may_set_it_later_up_to_a_lifetime_from_now() -> None:
    day = timedelta(days=1)
    assert updated(LATEST, "2019-04-16T12:00:00Z", after=day) == Verdict("2019-04-16T12:00:00Z")
    assert fields_of(updated(LATEST, "2019-04-16T12:00:01Z", after=day)) == [PATH]


def test_it_may_be_set_earlier_though_it_stays_beyond_a_lifetime() -> None:
    assert updated("2029-01-02T00:00:00Z", "2029-01-01T00:00:00Z").errors == ()


def test_leaving_it_out_keeps_it() -> None:
    assert updated(LATEST, None) == Verdict(LATEST)


def test_without_a_lifetime_it_may_be_removed_and_set_at_will() -> None:
    assert updated(LATEST, None, days=None) == Verdict(None)
    assert updated(LATEST, "2099-01-01T00:00:00Z", days=None).errors == ()


def test_an_unreadable_old_value_never_blocks() -> None:
    assert updated("garbage", "garbage") == Verdict("garbage")
    assert updated("garbage", None) == Verdict("garbage")
    assert updated("garbage", LATEST) == Verdict(LATEST)


def test_an_unreadable_new_value_is_refused() -> None:
    assert fields_of(updated(LATEST, "garbage")) == [PATH]


def test_it_is_set_for_the_first_time_within_a_lifetime_from_now() -> None:
    assert updated(None, LATEST) == Verdict(LATEST)
    assert fields_of(updated(None, BEYOND)) == [PATH]


def test_a_lifetime_beyond_the_calendar_ends_with_it() -> None:
    assert created(days=10**7) == Verdict("9999-12-31T23:59:59Z")
