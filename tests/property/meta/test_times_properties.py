from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from apis.meta.times import format_rfc3339, parse_rfc3339

offsets = st.integers(-23 * 60, 23 * 60).map(lambda m: timezone(timedelta(minutes=m)))
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=offsets)  # noqa: DTZ001


@given(moments)
def test_a_moment_survives_being_written(moment: datetime) -> None:
    assert parse_rfc3339(format_rfc3339(moment)) == moment.astimezone(UTC).replace(microsecond=0)


@given(moments)
def test_any_zone_is_read(moment: datetime) -> None:
    assert parse_rfc3339(moment.isoformat()) == moment


@given(st.text(st.sampled_from("0123456789-:T+Z."), max_size=30))
def test_any_text_parses_or_is_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert parse_rfc3339(text).tzinfo is not None
