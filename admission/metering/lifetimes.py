"""When a shoot expires: quotas lend clusters for a number of days."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from apis.garden.v1beta1.shoot import EXPIRATION
from apis.meta.fields import FieldError, invalid
from apis.meta.times import format_rfc3339, parse_rfc3339
from apis.meta.transaction import Object
from apis.meta.values import valueclass

CREATION_TIME = "quota.garden.sapcloud.io/creationTime"
_LATEST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The last second that RFC 3339 can write."""


@valueclass
class Verdict:
    """`value`: what the expiration annotation has to be, None for none at all."""

    value: str | None
    errors: tuple[FieldError, ...] = ()


def lifetime_days(quotas: Iterable[Object]) -> int | None:
    """The shortest of the quotas' lifetimes, None where none of them limits it."""
    days = [(quota.get("spec") or {}).get("clusterLifetimeDays") for quota in quotas]
    return min((n for n in days if n is not None), default=None)


def on_create(annotations: Mapping[str, str], *, created: datetime, days: int | None) -> Verdict:
    """A value that is given may shorten the life that the quotas allow, and must be readable.

    `quota.garden.sapcloud.io/creationTime` moves the beginning of that life, back only: a cluster
    that is created again keeps its age.
    """
    errors: list[FieldError] = []
    given = annotations.get(EXPIRATION)
    expires = None if given is None else _parse(EXPIRATION, given, errors)
    began = created
    if days is not None and CREATION_TIME in annotations:
        began = min(created, _parse(CREATION_TIME, annotations[CREATION_TIME], errors) or created)
    if errors:
        return Verdict(given, tuple(errors))
    if days is None:
        return Verdict(given)
    latest = _plus_days(began, days)
    if given is None or expires is None:
        return Verdict(format_rfc3339(latest))
    if expires > latest:
        return Verdict(given, (_too_late(given, f"creation plus {_days(days)}", latest),))
    return Verdict(given)


def on_update(
    annotations: Mapping[str, str],
    old_annotations: Mapping[str, str],
    *,
    now: datetime,
    days: int | None,
) -> Verdict:
    """Earlier is always allowed, later up to a whole life from now; what is left out is kept.

    A value that is not touched is never judged, so an unreadable one blocks nothing. A shoot
    whose quotas set no lifetime may lose its expiration.
    """
    given, old = annotations.get(EXPIRATION), old_annotations.get(EXPIRATION)
    if given == old:
        return Verdict(given)
    if given is None:
        return Verdict(None if days is None else old)
    errors: list[FieldError] = []
    expires = _parse(EXPIRATION, given, errors)
    if expires is None:
        return Verdict(given, tuple(errors))
    if days is None:
        return Verdict(given)
    latest = _plus_days(now, days)
    before = None if old is None else _parse(EXPIRATION, old, [])
    if expires > latest and (before is None or expires > before):
        return Verdict(given, (_too_late(given, f"{_days(days)} from now", latest),))
    return Verdict(given)


def path_of(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]"


def _parse(annotation: str, value: str, errors: list[FieldError]) -> datetime | None:
    try:
        return parse_rfc3339(value)
    except ValueError:
        detail = "must be a time in RFC 3339, such as 2006-01-02T15:04:05Z"
        errors.append(invalid(path_of(annotation), value, detail))
        return None


def _plus_days(moment: datetime, days: int) -> datetime:
    """Whole seconds; a lifetime beyond the calendar ends with it."""
    try:
        return moment.replace(microsecond=0) + timedelta(days=days)
    except OverflowError:
        return _LATEST


def _days(days: int) -> str:
    return f"{days} day" if days == 1 else f"{days} days"


def _too_late(value: str, bound: str, latest: datetime) -> FieldError:
    detail = (
        f"must not be later than {format_rfc3339(latest)} ({bound}, the shortest "
        "clusterLifetimeDays of the quotas)"
    )
    return invalid(path_of(EXPIRATION), value, detail)
