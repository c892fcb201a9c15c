from datetime import UTC, datetime, timedelta, timezone

import pytest

from apis.meta.times import format_rfc3339, parse_rfc3339

MOMENT = datetime(2006, 1, 2, 15, 4, 5, 678901, tzinfo=UTC)


def test_seconds_are_what_metav1_time_shows() -> None:
    assert format_rfc3339(MOMENT) == "2006-01-02T15:04:05Z"


def test_other_zones_are_shown_in_utc() -> None:
    assert format_rfc3339(MOMENT.astimezone(timezone(timedelta(hours=5)))) == "2006-01-02T15:04:05Z"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        format_rfc3339(datetime(2006, 1, 2))  # noqa: DTZ001 - the fault under test


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2006-01-02T15:04:05Z", MOMENT.replace(microsecond=0)),
        ("2006-01-02t15:04:05z", MOMENT.replace(microsecond=0)),
        ("2006-01-02T15:04:05.678901Z", MOMENT),
        ("2006-01-02T15:04:05.6789019999Z", MOMENT),
        ("2006-01-02T15:04:05.5Z", MOMENT.replace(microsecond=500000)),
        ("2006-01-02T17:34:05+02:30", MOMENT.replace(microsecond=0)),
        ("2006-01-01T23:04:05-16:00", MOMENT.replace(microsecond=0)),
    ],
)
def test_rfc_3339_is_parsed(text: str, expected: datetime) -> None:
    assert parse_rfc3339(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "garbage", "2006-01-02", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z",
        "2006-01-02T15:04:05+0200", "2006-01-02T15:04:05+24:00", "2006-01-02T15:04:05+02:60",
        "2006-13-02T15:04:05Z", "2006-02-30T15:04:05Z", "2006-01-02T24:00:00Z",
        "2006-01-02T15:04:60Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+10:00",
        "9999-12-31T23:59:59-10:00", "2006-01-02T15:04:05.Z", "2006-01-02T15:04:05Z\n",
        "٢٠٠٦-01-02T15:04:05Z", "2006-01-02T15:04:05Z" * 100_000, "20060102T150405Z",
        "2006-1-2T15:04:05Z",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no RFC 3339 time") as refusal:
        parse_rfc3339(text)
    assert len(str(refusal.value)) < 250
