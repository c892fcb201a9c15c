"""THE order in which a request passes the filters, and why where it matters."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from apis.meta.resource import Resource
from quotaapi.auth.access import Identify
from quotaapi.auth.interface import Authenticator, Authorizer
from quotaapi.endpoints import requestinfo
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.health import Health
from quotaapi.endpoints.longanswer import Outgoing
from quotaapi.endpoints.mutations import Mutations
from quotaapi.filters.accounting import RequestCounts
from quotaapi.filters.audit import with_audit
from quotaapi.filters.authentication import with_authentication
from quotaapi.filters.authorization import with_authorization
from quotaapi.filters.delivery import with_delivery
from quotaapi.filters.errors import with_errors
from quotaapi.filters.health import with_health
from quotaapi.filters.inflight import InflightLimit, with_inflight_limit
from quotaapi.filters.request_log import with_request_log
from quotaapi.filters.timeout import with_timeout
from quotaapi.registry.heavy import Heavy

WebHandler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_AUDIT_ID_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Filters:
    """What the filters work with."""

    health: Health
    authenticators: Sequence[Authenticator]
    authorizer: Authorizer
    resources: Mapping[str, Resource]
    counts: RequestCounts
    reads: InflightLimit
    mutations: Mutations
    request_timeout_seconds: float
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    heavy: Heavy
    identify: Identify
    audited: bool = False
    log_requests: bool = False


def build(filters: Filters, endpoints: Handler) -> WebHandler:
    """Innermost first: what is wrapped last sees a request first."""
    handler = endpoints
    # Innermost: what an answer waits for its client belongs to the request.
    handler = with_delivery(handler)
    # Within authorization: who may not gets its answer at once and needs no timer.
    handler = with_timeout(handler, filters.request_timeout_seconds)
    handler = with_authorization(handler, filters.authorizer, filters.resources)
    # Around authorization, so that refused writes are logged, too.
    if filters.audited:
        handler = with_audit(handler)
    # After authentication, since system:masters is exempt; before authorization, which may have
    # to ask elsewhere: what is too much is refused before it costs anything.
    handler = with_inflight_limit(handler, filters.reads, filters.mutations)
    handler = with_authentication(handler, filters.authenticators, filters.identify)
    # Before authentication: probes have no credentials, and a full server is not a dead one.
    handler = with_health(handler, filters.health)
    # Everything that can go wrong goes wrong within this one.
    handler = with_errors(handler)
    # Outermost, so that refusals are counted and logged as what the client gets.
    handler = filters.counts.wrap(handler)
    if filters.log_requests:
        handler = with_request_log(handler, time.monotonic)
    clock, new_id, heavy, outgoing = (
        filters.clock,
        filters.new_id,
        filters.heavy,
        Outgoing(filters.heavy.turn),
    )
    parse = requestinfo.parse

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        audit_id = _given_id(request) or new_id()
        info = parse(request.method, request.raw_path)
        return await handler(Exchange(request, info, audit_id, clock, heavy, outgoing))

    return handle


def _given_id(request: web.BaseRequest) -> str:
    """A proxy's audit id goes on, so that its log and ours can be joined."""
    given = request.headers.get("Audit-Id", "")
    return given if len(given) <= _AUDIT_ID_LENGTH and given.isascii() else ""
