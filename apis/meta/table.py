"""What `kubectl get` prints: metav1 Tables, rendered by the server, and metadata without the rest."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from apis.meta.resource import Column, Resource
from apis.meta.times import parse_rfc3339
from apis.meta.transaction import Header, Object

META_V1 = "meta.k8s.io/v1"

_NAME_COLUMN = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace. Is required when creating resources, "
    "although some resources may allow a client to request the generation of an appropriate name "
    "automatically. Name is primarily intended for creation idempotence and configuration "
    "definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    "priority": 0,
}
"""metav1's own column, with metav1's description of `metadata.name`."""


class IncludeObject(StrEnum):
    """How much of an object accompanies its row."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


class Row(Protocol):
    """A stored object: `apis.meta.transaction.Record`, or what looks like one."""

    @property
    def header(self) -> Header: ...

    def object(self) -> Object: ...


def table(
    resource: Resource,
    rows: Iterable[Row],
    *,
    now: datetime,
    metadata: dict[str, Any],
    include: IncludeObject = IncludeObject.METADATA,
) -> dict[str, Any]:
    """A metav1 Table. `metadata` is a list's (or of one object its resourceVersion)."""
    return {
        "kind": "Table",
        "apiVersion": META_V1,
        "metadata": metadata,
        "columnDefinitions": columns(resource),
        "rows": [table_row(resource, row, now=now, include=include) for row in rows],
    }


def columns(resource: Resource) -> list[dict[str, Any]]:
    """The columns of a kind, its name before all others."""
    return [_NAME_COLUMN, *map(_definition, resource.columns)]


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def table_row(
    resource: Resource, row: Row, *, now: datetime, include: IncludeObject
) -> dict[str, Any]:
    """One row of a Table."""
    obj = row.object()
    return {"cells": cells(resource, obj, row.header, now=now), "object": _included(obj, include)}


def cells(resource: Resource, obj: Object, header: Header, *, now: datetime) -> list[Any]:
    """What stands in an object's row; a cell without a value is null."""
    found = [obj["metadata"].get("name", "")]
    for column in resource.columns:
        value = column.cell(obj, header)
        found.append(age(value, now) if column.type == "date" else value)
    return found


def _included(obj: Object, include: IncludeObject) -> Object | None:
    match include:
        case IncludeObject.NONE:
            return None
        case IncludeObject.METADATA:
            return partial_metadata(obj)
        case IncludeObject.OBJECT:
            return obj


def partial_metadata(obj: Object) -> Object:
    """The object's PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META_V1, "metadata": obj["metadata"]}


def age(value: object, now: datetime) -> str:
    """The age of an RFC 3339 time; `<unknown>` where there is none."""
    try:
        moment = parse_rfc3339(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    return "<unknown>" if moment is None else human_duration(now - moment)


_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

_SCALES = (
    # (below, unit, its letter, smaller unit, its letter, how many smaller ones make one)
    (10 * _MINUTE, _MINUTE, "m", 1, "s", 60),
    (3 * _HOUR, _MINUTE, "m", 0, "", 0),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m", 60),
    (2 * _DAY, _HOUR, "h", 0, "", 0),
    (8 * _DAY, _DAY, "d", _HOUR, "h", 24),
    (2 * _YEAR, _DAY, "d", 0, "", 0),
    (8 * _YEAR, _YEAR, "y", _DAY, "d", 365),
)
"""kubectl's precision: two units while the second still says something, then one."""


def human_duration(duration: timedelta) -> str:
    """As kubectl prints ages: `119s`, `2m5s`, `5h30m`, `7d4h`, `400d`. Clocks may differ by a
    second before an age counts as invalid."""
    total = duration.total_seconds()
    seconds = int(total)
    if seconds < -1:
        return "<invalid>"
    if total < 0:
        return "0s"
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    for below, unit, letter, smaller, small_letter, ratio in _SCALES:
        if seconds < below:
            rest = seconds // smaller % ratio if smaller else 0
            return f"{seconds // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{seconds // _YEAR}y"
