"""Timestamps as text (RFC 3339). Nothing here knows what time it is: clocks are injected."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)


_SECONDS = len("2006-01-02T15:04:05")


def format_rfc3339(moment: datetime) -> str:
    """`2006-01-02T15:04:05Z`, as metav1.Time. `moment` must be aware."""
    return f"{_utc(moment).isoformat()[:_SECONDS]}Z"


@lru_cache(maxsize=1024)
def parse_rfc3339(text: str) -> datetime:
    """An aware datetime, in the zone that was written; what is below a microsecond is cut off.

    Raises ValueError: for other forms, for dates that do not exist, and for what lies outside
    of the years that UTC can tell.
    """
    match = _RFC3339.fullmatch(text) if len(text) <= 64 else None
    if match is None:
        raise ValueError(f"{_shown(text)} is no RFC 3339 time")
    *numbers, fraction, sign, hours, minutes = match.groups()
    try:
        zone = _zone(sign, hours, minutes) if sign else UTC
        year, month, day, hour, minute, second = map(int, numbers)
        microsecond = int((fraction or "")[:6].ljust(6, "0"))
        moment = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)
        moment.astimezone(UTC)
    except (ValueError, OverflowError) as e:
        raise ValueError(f"{_shown(text)} is no RFC 3339 time: {e}") from e
    return moment


def _zone(sign: str, hours: str, minutes: str) -> timezone:
    if int(minutes) > 59:
        raise ValueError("zone minutes must be in 0..59")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time without a zone says no moment")
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 64 else f"{text[:64]}...")
