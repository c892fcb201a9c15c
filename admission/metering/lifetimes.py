"""When a shoot expires: quotas lend clusters for a number of days."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Final

from apis.garden.v1beta1.shoot import CREATION_TIME, EXPIRATION
from apis.meta.fields import FieldError, invalid
from apis.meta.times import format_rfc3339, parse_rfc3339
from apis.meta.transaction import Object
from apis.meta.values import valueclass

_LATEST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The last second that RFC 3339 can write."""


@valueclass
class Life:
    """What one quota, (namespace, name), lends."""

    quota: tuple[str, str]
    days: int


LIVES: Final = "lives"
"""In `Attributes.relied_on` of a create: the lives, in the order of the binding's quotas, by which
its expiration was judged and filled in."""


@valueclass
class Beyond:
    """An expiration passes what `quota` allows: refused, unless its author may update the quota."""

    quota: tuple[str, str]
    refusal: FieldError


@valueclass
class Verdict:
    """`annotations`: what has to be set beside what was given. `beyond`: the shortest life first."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[FieldError, ...] = ()
    beyond: tuple[Beyond, ...] = ()


def life_of(quota: Object) -> Life | None:
    """None where the quota sets no lifetime."""
    days = (quota.get("spec") or {}).get("clusterLifetimeDays")
    metadata = quota["metadata"]
    return None if days is None else Life((metadata["namespace"], metadata["name"]), days)


def end_of_life(began: datetime, days: int) -> datetime:
    """The latest expiration that a lifetime allows: the one place where it is computed.

    Whole seconds; a lifetime beyond the calendar ends with it.
    """
    try:
        return began.replace(microsecond=0) + timedelta(days=days)
    except OverflowError:
        return _LATEST


def on_create(
    annotations: Mapping[str, str], *, created: datetime, lives: Sequence[Life]
) -> Verdict:
    """Without an expiration the shoot gets the latest that all of its quotas allow.

    A creation time that is given moves the beginning of its life, back only: a cluster that is
    created again keeps its age.
    """
    errors: list[FieldError] = []
    expires = _parsed(EXPIRATION, annotations, errors)
    if not lives:
        return Verdict(errors=tuple(errors))
    began = _began(created, _parsed(CREATION_TIME, annotations, errors))
    if errors:
        return Verdict(errors=tuple(errors))
    if expires is None:
        latest = min(end_of_life(began, life.days) for life in lives)
        return Verdict({EXPIRATION: format_rfc3339(latest)})
    return Verdict(beyond=_beyond(annotations[EXPIRATION], expires, began, lives))


def on_update(
    annotations: Mapping[str, str],
    old_annotations: Mapping[str, str],
    *,
    created: datetime,
    lives: Sequence[Life],
) -> Verdict:
    """The end of life is counted from the creation, whenever it is asked for.

    Earlier than stored is always allowed. What is left out is kept, and a creation time never moves
    forward: either would lengthen the life. A value that is not touched is never judged, so an
    unreadable or too late one blocks nothing. Without a lifetime both are free.
    """
    errors: list[FieldError] = []
    given, old = annotations.get(EXPIRATION), old_annotations.get(EXPIRATION)
    expires = None if given in (None, old) else _parsed(EXPIRATION, annotations, errors)
    if not lives:
        return Verdict(errors=tuple(errors))
    before = _parsed(EXPIRATION, old_annotations, [])
    since = _parsed(CREATION_TIME, old_annotations, [])
    moved = None
    if annotations.get(CREATION_TIME) != old_annotations.get(CREATION_TIME):
        moved = _parsed(CREATION_TIME, annotations, errors)
        if moved is not None and since is not None and moved > since:
            detail = f"must not be later than {format_rfc3339(since)}, which is stored"
            errors.append(invalid(path_of(CREATION_TIME), annotations[CREATION_TIME], detail))
    kept = {
        name: old_annotations[name]
        for name in (EXPIRATION, CREATION_TIME)
        if name in old_annotations and name not in annotations
    }
    if errors or expires is None or (before is not None and expires <= before):
        return Verdict(kept, tuple(errors))
    began = _began(created, since, moved)
    return Verdict(kept, beyond=_beyond(annotations[EXPIRATION], expires, began, lives))


def path_of(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]"


def _began(*moments: datetime | None) -> datetime:
    return min(moment for moment in moments if moment is not None)


def _beyond(
    value: str, expires: datetime, began: datetime, lives: Sequence[Life]
) -> tuple[Beyond, ...]:
    ends = sorted((end_of_life(began, life.days), life.quota, life.days) for life in lives)
    return tuple(
        Beyond(quota, _too_late(value, end, quota, days))
        for end, quota, days in ends
        if expires > end
    )


def _too_late(value: str, end: datetime, quota: tuple[str, str], days: int) -> FieldError:
    lifetime = "1 day" if days == 1 else f"{days} days"
    detail = (
        f"must not be later than {format_rfc3339(end)}, the creation plus {lifetime} "
        f"(clusterLifetimeDays of quota {'/'.join(quota)}), unless set by who may update this quota"
    )
    return invalid(path_of(EXPIRATION), value, detail)


def _parsed(
    annotation: str, annotations: Mapping[str, str], errors: list[FieldError]
) -> datetime | None:
    """None where it is absent or, with an error, unreadable."""
    value = annotations.get(annotation)
    if value is None:
        return None
    try:
        return parse_rfc3339(value)
    except ValueError:
        detail = "must be a time in RFC 3339, such as 2006-01-02T15:04:05Z"
        errors.append(invalid(path_of(annotation), value, detail))
        return None
