"""What the verbs work with, besides the request itself."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random

from aiohttp import web

from quotaapi.endpoints.exchange import Exchange
from quotaapi.endpoints.mutations import Mutations
from quotaapi.endpoints.watching import Watches
from quotaapi.registry.rest import Rest


@dataclass(frozen=True, slots=True)
class Api:
    """`rests`: plural -> its verbs. `random` only spreads times: of bookmarks, of ends of watches."""

    rests: Mapping[str, Rest]
    mutations: Mutations
    watches: Watches
    random: Random
    min_request_timeout_seconds: float = 1800.0
    bookmark_seconds: float = 60.0


Verb = Callable[[Api, Rest, Exchange], Awaitable[web.StreamResponse]]
