"""The composition root: the only place that constructs and wires. Nothing here runs anything.

etcd client -> store -> group commit -> cache, claims (storage.stack)
            -> evaluator (the gate), chain (the plugins)
            -> one registry store per kind
            -> endpoints -> filters
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from admission.chain import Chain
from admission.interface import Intent
from admission.plugins.created_by import CreatedBy
from admission.plugins.deletion_confirmation import DeletionConfirmation
from admission.plugins.lifetime import Lifetime as LifetimeAnnotation
from admission.plugins.namespace_lifecycle import NamespaceLifecycle
from admission.plugins.offers import UnofferedNames
from admission.plugins.references import ReferenceManager
from admission.plugins.shoot_limit_range import ShootLimitRange
from admission.quota.evaluator import Evaluator
from admission.quota.ledger import Surroundings
from admission.quota.views import Views
from apis.garden.v1beta1.register import BY_PLURAL, RESOURCES, SHOOT_LIMIT_RANGE
from apis.meta.request import Attributes
from apis.meta.transaction import Committed, Object, Record
from quotaapi.auth.access import Access
from quotaapi.config import Config
from quotaapi.directory import CacheDirectory
from quotaapi.endpoints import aggregated, discovery, metrics, openapi, standalone
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.exchange import Handler
from quotaapi.endpoints.health import Health, alive
from quotaapi.endpoints.mutations import Mutations
from quotaapi.endpoints.routes import dispatcher
from quotaapi.endpoints.watching import Watches
from quotaapi.filters import chain
from quotaapi.filters.accounting import RequestCounts
from quotaapi.filters.inflight import InflightLimit
from quotaapi.lookups import NewestRecords
from quotaapi.registry import identity
from quotaapi.registry.heavy import Heavy
from quotaapi.registry.rest import Rest
from quotaapi.registry.wiring import Admit
from quotaapi.resources.stores import stores
from quotaapi.server.duties import Duties, MandateOf, Writers, build_duties
from quotaapi.server.listener import WebHandler
from quotaapi.server.persistence import Storage
from quotaapi.server.probe import EtcdProbe
from quotaapi.server.pulse import Pulse
from quotaapi.server.statistics import Numbers
from storage import stack
from storage.etcd.space import Space

_log = logging.getLogger(__name__)

_VIEWS_PER_QUOTA = 10
"""Decoded bindings and routes that are kept for each quota that is."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Server:
    """What `lifecycle` starts and stops."""

    storage: Storage
    evaluator: Evaluator
    duties: Duties
    probe: EtcdProbe
    pulse: Pulse
    mutations: Mutations
    watches: Watches
    handler: WebHandler
    health: Health
    numbers: metrics.Source
    heavy: Heavy


@dataclass(slots=True)
class Phase:
    """Whether the server is going away: then it is not ready, and load balancers look elsewhere."""

    stopping: bool = False


def build(
    config: Config,
    storage: Storage,
    tasks: asyncio.TaskGroup,
    phase: Phase,
    access: Access,
    gather: metrics.Gather | None = None,
) -> Server:
    """Everything above etcd; `tasks` will own the writes. Long, since it is one list of all parts.

    `gather`: where this process is one of several workers, the numbers of all of them.
    """
    built = storage.stack
    around = Surroundings(CacheDirectory(built.reader), utc_now, identity.new_uid)
    evaluator = Evaluator(
        built.transactor,
        around,
        workers=config.quota_workers,
        timeout_seconds=config.admission_timeout_seconds,
        max_object_bytes=config.etcd_max_request_bytes,
        views=Views(config.quota_cache_size * _VIEWS_PER_QUOTA),
    )
    heavy = Heavy()
    rests = _registry(config, built, evaluator, access, heavy)
    mutations = Mutations(tasks, config.max_mutating_requests_inflight)
    watches = Watches()
    api = Api(
        rests,
        mutations,
        watches,
        random.Random(),  # noqa: S311 -- spreads times, keeps no secret
        min_request_timeout_seconds=config.min_request_timeout_seconds,
    )
    probe = EtcdProbe(storage.store.current_revision, look=storage.store.space.look)
    counts = RequestCounts(tuple(rests), time.monotonic)
    health = Health(
        _checks(phase, probe, built, access, storage.store.space),
        lambda why: _log.warning("%s", why),
    )
    pulse = Pulse(time.monotonic)
    numbers = Numbers(storage, evaluator, mutations, watches)

    def rests_under(mandate: MandateOf) -> Mapping[str, Rest]:
        return _registry(config, built, evaluator, access, heavy, mandate)

    # Of their own: what controllers write takes no client's place.
    own_writes = Mutations(tasks, config.max_mutating_requests_inflight)
    writers = Writers(evaluator, own_writes, rests_under, utc_now)
    duties = build_duties(config, storage, writers, collects=not access.garbage_collected)
    sources = (counts.statistics, numbers.statistics, duties.statistics, pulse.statistics)
    pages = {
        **_documents((*health.paths, "/metrics")),
        "/metrics": metrics.page(sources, gather),
    }
    alone = standalone.nothing if config.delegated else standalone.finder(access.authorizer)
    filters = _filters(
        config, access, health=health, mutations=mutations, counts=counts, heavy=heavy
    )
    handler = chain.build(filters, dispatcher(api, pages, alone))
    own_numbers = metrics.all_of(sources)
    return Server(
        storage,
        evaluator,
        duties,
        probe,
        pulse,
        mutations,
        watches,
        handler,
        health,
        own_numbers,
        heavy,
    )


def _filters(
    config: Config,
    access: Access,
    *,
    health: Health,
    mutations: Mutations,
    counts: RequestCounts,
    heavy: Heavy,
) -> chain.Filters:
    return chain.Filters(
        health=health,
        authenticators=access.authenticators,
        authorizer=access.authorizer,
        resources=BY_PLURAL,
        counts=counts,
        reads=InflightLimit(config.max_requests_inflight),
        mutations=mutations,
        request_timeout_seconds=config.request_timeout_seconds,
        clock=utc_now,
        new_id=identity.new_uid,
        heavy=heavy,
        identify=access.identify,
        audited=access.audited,
        log_requests=config.log_requests,
    )


def _documents(more_paths: Sequence[str]) -> Mapping[str, Handler]:
    """What the server says of itself, by path; the root lists `more_paths` beside these."""
    described = openapi.pages(RESOURCES)
    listed = discovery.pages(RESOURCES, (*more_paths, *described))
    return {**aggregated.wrap(listed, RESOURCES), **described}


def _registry(
    config: Config,
    built: stack.Stack,
    evaluator: Evaluator,
    access: Access,
    heavy: Heavy,
    mandate: MandateOf | None = None,
) -> Mapping[str, Rest]:
    """`mandate`: for the controllers' own writes, which only the leader may make, and which nobody
    confirms: a lifetime has ended, an owner is gone."""
    newest = NewestRecords(built.reader, built.transactor)
    plugins = _chain(newest, access)
    if mandate is None:
        required = config.require_deletion_confirmation
        confirmation = DeletionConfirmation(access.namespaces, required=required)
        plugins = replace(plugins, validating=(confirmation, *plugins.validating))
    return stores(
        reader=built.reader,
        transactor=built.transactor,
        mutate=plugins.mutate,
        validate=plugins.validate,
        admit=_gate(evaluator, newest, mandate),
        clock=utc_now,
        heavy=heavy,
    )


def _chain(newest: NewestRecords, access: Access) -> Chain:
    """The plugins in their order; accounts, which come last, are the gate's."""
    ranges = ShootLimitRange(newest, newest, newest)
    return Chain(
        mutating=(CreatedBy(), ranges, LifetimeAnnotation(newest, access.references, utc_now)),
        validating=(
            NamespaceLifecycle(access.namespaces),
            ReferenceManager(access.references, newest),
            ranges,
            UnofferedNames(newest),
        ),
    )


def _gate(evaluator: Evaluator, newest: NewestRecords, mandate: MandateOf | None) -> Admit:
    """The evaluator as the registry, which knows nothing of admission, calls it."""

    async def admit(
        attributes: Attributes, key: str, old: Record | None, obj: Object | None
    ) -> Committed | None:
        under = mandate() if mandate is not None else None
        committed = await evaluator.admit(Intent(attributes, key, old, obj, under))
        if committed is not None and attributes.resource is SHOOT_LIMIT_RANGE:
            newest.learn_ranges(committed)
        return committed

    return admit


def _checks(
    phase: Phase, probe: EtcdProbe, built: stack.Stack, access: Access, space: Space
) -> Mapping[str, Mapping[str, Callable[[], str]]]:
    def shutdown() -> str:
        return "the server is shutting down" if phase.stopping else ""

    def watch_cache() -> str:
        if built.reader.synced:
            return ""
        return built.reflector.fault or "the watch cache is not filled yet"

    def space_left() -> str:
        # Of no other group: a replica that is not ready serves no reads, and those go on.
        return "etcd's database is full: it takes no writes" if space.full else ""

    ready = {
        "ping": alive,
        "etcd": probe.check,
        "watch-cache": watch_cache,
        **access.checks,
        "shutdown": shutdown,
    }
    return {
        "livez": {"ping": alive},
        "readyz": ready,
        "healthz": {"ping": alive, "etcd": probe.check, "etcd-space": space_left},
    }
