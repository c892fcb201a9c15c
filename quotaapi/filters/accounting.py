"""Requests, counted by what they asked for and what they got: for /metrics."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from aiohttp import web

from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.metrics import Family

_VERBS = frozenset(
    {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post"}
)


class RequestCounts:
    """`monotonic` in seconds. Names that clients choose are no labels: they would fill memory."""

    def __init__(self, resources: Sequence[str], monotonic: Callable[[], float]) -> None:
        self._resources = frozenset(resources)
        self._monotonic = monotonic
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[tuple[str, str], float] = defaultdict(float)

    def wrap(self, inner: Handler) -> Handler:
        async def handle(exchange: Exchange) -> web.StreamResponse:
            info = exchange.info
            verb = info.verb if info.verb in _VERBS else "other"
            resource = info.resource if info.resource in self._resources else ""
            started = self._monotonic()
            answer = await inner(exchange)
            self._requests[verb, resource, answer.status] += 1
            if verb != "watch":
                self._seconds[verb, resource] += self._monotonic() - started
            return answer

        return handle

    def statistics(self) -> Sequence[Family]:
        return (
            Family(
                "quotaapi_requests_total",
                "counter",
                "Answered requests by verb, resource and HTTP code.",
                {
                    (("code", str(code)), ("resource", resource), ("verb", verb)): float(count)
                    for (verb, resource, code), count in self._requests.items()
                },
            ),
            Family(
                "quotaapi_request_seconds_total",
                "counter",
                "Seconds spent on answered requests, watches left out.",
                {
                    (("resource", resource), ("verb", verb)): seconds
                    for (verb, resource), seconds in self._seconds.items()
                },
            ),
        )
