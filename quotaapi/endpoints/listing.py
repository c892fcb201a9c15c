"""The parameters of a list, a watch or a deletecollection, decoded and judged as kube-apiserver does."""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar
from weakref import WeakValueDictionary

from apis.meta import errors, fields
from apis.meta.fields import FieldError
from apis.meta.resource import Resource
from apis.meta.selectors import FieldSelector, LabelSelector
from quotaapi.endpoints import query as parameters
from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.query import Query
from quotaapi.registry.rest import ListQuery

Parsed = TypeVar("Parsed")

NOT_OLDER_THAN: Final = "NotOlderThan"
EXACT: Final = "Exact"

Selector = TypeVar("Selector", LabelSelector, FieldSelector)

MAX_LONG_BYTES: Final = 2 * 1024 * 1024
"""Of the texts of all long selectors that are in use."""


class LongSelectors(Generic[Selector]):
    """Long selectors while they are in use: requests with the same text share what was parsed, and
    the texts take `max_bytes` at most.

    A parsed selector takes some twelve times its text, for as long as its watch is open; a client
    can have many watches, each with a selector as long as a request line may be.
    """

    def __init__(self, *, max_bytes: int = MAX_LONG_BYTES) -> None:
        self._max_bytes = max_bytes
        # Long selectors are parsed in threads.
        self._lock = Lock()
        self._parsed: WeakValueDictionary[Hashable, Selector] = WeakValueDictionary()

    def parsed(self, key: str, text: str, parse: Callable[[], Selector]) -> Selector:
        """`parse()`; `key` tells apart what means something else with the same text.

        Raises what `parse` raises, and 429 where too much is in use.
        """
        if len(text) < LONG_BYTES:
            return parse()
        with self._lock:
            found = self._parsed.get((key, text))
            if found is None:
                in_use = sum(len(each.text) for each in self._parsed.values())
                if in_use + len(text) > self._max_bytes:
                    raise errors.too_many_requests(
                        "Too many long selectors, please try again later."
                    )
                found = self._parsed[key, text] = parse()
        return found


_LABELS: Final[LongSelectors[LabelSelector]] = LongSelectors()
_FIELDS: Final[LongSelectors[FieldSelector]] = LongSelectors()

_EVERYTHING: Final = LabelSelector.parse("")
_NO_FIELDS: Final = FieldSelector.parse("", ())
LONG_BYTES: Final = 4 * 1024
"""Five milliseconds of selectors."""

_WHOLE: Final = ListQuery(_EVERYTHING, _NO_FIELDS)


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """`initial_events` None: not said, then the version decides. `timeout_seconds` 0: not said."""

    query: ListQuery
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout_seconds: int = 0


async def read_query(
    exchange: Exchange, resource: Resource, parse: Callable[[Resource, str], Parsed]
) -> Parsed:
    """`parse` (`list_query` or `watch_query`) of the request's parameters, which may be long."""
    text = exchange.info.query
    if len(text) < LONG_BYTES:
        return parse(resource, text)
    return await exchange.heavy.run(len(text), parse, resource, text)


def list_query(resource: Resource, text: str) -> ListQuery:
    """Raises 400 and 422."""
    if not text:
        return _WHOLE
    query = parameters.parse(text)
    limit, _ = _numbers(query)
    labels = _labels(query)
    parameters.refuse("ListOptions", _list_faults(query))
    version = parameters.first(query, "resourceVersion")
    token = parameters.first(query, "continue")
    if token and version not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    return ListQuery(
        labels,
        _fields(resource, query),
        resource_version=parameters.resource_version(version),
        match=parameters.first(query, "resourceVersionMatch"),
        limit=limit,
        continue_token=token,
    )


def watch_query(resource: Resource, text: str) -> WatchQuery:
    """Raises 400 and 422. A limit means nothing to a watch, but must be a number."""
    query = parameters.parse(text)
    _, timeout = _numbers(query)
    labels = _labels(query)
    parameters.refuse("ListOptions", _watch_faults(query))
    version = parameters.resource_version(parameters.first(query, "resourceVersion"))
    return WatchQuery(
        ListQuery(labels, _fields(resource, query), resource_version=version),
        bookmarks=bool(parameters.boolean(query, "allowWatchBookmarks")),
        initial_events=parameters.boolean(query, "sendInitialEvents"),
        timeout_seconds=timeout,
    )


def _numbers(query: Query) -> tuple[int, int]:
    """`limit` and `timeoutSeconds`, 0 where they are absent or negative. The latter bounds a watch;
    a list is over sooner, but must say a number all the same."""
    timeout = parameters.integer(query, "timeoutSeconds") or 0
    limit = parameters.integer(query, "limit") or 0
    return max(limit, 0), max(timeout, 0)


def _labels(query: Query) -> LabelSelector:
    text = parameters.first(query, "labelSelector")
    if not text:
        return _EVERYTHING
    try:
        return _LABELS.parsed("", text, lambda: LabelSelector.parse(text))
    except ValueError as error:
        raise errors.bad_request(str(error)) from None


def _fields(resource: Resource, query: Query) -> FieldSelector:
    text = parameters.first(query, "fieldSelector")
    if not text:
        return _NO_FIELDS
    try:
        allowed = selectable(resource)
        return _FIELDS.parsed(resource.plural, text, lambda: FieldSelector.parse(text, allowed))
    except ValueError as error:
        raise errors.bad_request(str(error)) from None


def selectable(resource: Resource) -> Collection[str]:
    """Fields that a selector may name. What is in no namespace cannot be selected by it."""
    metadata = (
        ("metadata.name", "metadata.namespace") if resource.namespaced else ("metadata.name",)
    )
    return (*metadata, *resource.selectable_fields)


def _match_fault(why: str) -> FieldError:
    return fields.forbidden("resourceVersionMatch", why)


def _list_faults(query: Query) -> list[FieldError]:
    faults = []
    match = parameters.first(query, "resourceVersionMatch")
    version = parameters.first(query, "resourceVersion")
    if match:
        if not version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            faults.append(_match_fault(why))
        if parameters.first(query, "continue"):
            why = "resourceVersionMatch is forbidden when continue is provided"
            faults.append(_match_fault(why))
        if match not in (EXACT, NOT_OLDER_THAN):
            allowed = (EXACT, NOT_OLDER_THAN, "")
            faults.append(fields.not_supported("resourceVersionMatch", match, allowed))
        if match == EXACT and version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            faults.append(_match_fault(why))
    if parameters.boolean(query, "sendInitialEvents") is not None:
        why = "sendInitialEvents is forbidden for list"
        faults.append(fields.forbidden("sendInitialEvents", why))
    return faults


def _watch_faults(query: Query) -> list[FieldError]:
    faults = []
    match = parameters.first(query, "resourceVersionMatch")
    initial = parameters.boolean(query, "sendInitialEvents")
    begins_anew = parameters.first(query, "resourceVersion") in ("", "0")
    if begins_anew and initial is None and not match:
        # kube-apiserver takes a watch that names no version for one that says this.
        initial, match = True, NOT_OLDER_THAN
    if initial is not None and match != NOT_OLDER_THAN:
        why = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        faults.append(_match_fault(why))
    if match:
        if initial is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            faults.append(_match_fault(why))
        if match != NOT_OLDER_THAN:
            allowed = (NOT_OLDER_THAN,)
            faults.append(fields.not_supported("resourceVersionMatch", match, allowed))
        if parameters.first(query, "continue"):
            why = "resourceVersionMatch is forbidden when continue is provided"
            faults.append(_match_fault(why))
    return faults
