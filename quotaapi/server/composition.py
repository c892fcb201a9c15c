"""The composition root: the only place that constructs and wires. Nothing here runs anything.

etcd client -> store -> group commit -> cache, claims (storage.stack)
            -> evaluator (the gate), chain (the plugins)
            -> one registry store per kind
            -> endpoints -> filters
"""

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from admission.chain import Chain
from admission.interface import Intent
from admission.plugins.created_by import CreatedBy
from admission.plugins.lifetime import Lifetime as LifetimeAnnotation
from admission.plugins.namespace_lifecycle import NamespaceLifecycle
from admission.plugins.references import ReferenceManager
from admission.plugins.shoot_limit_range import ShootLimitRange
from admission.quota.evaluator import Evaluator
from admission.quota.ledger import Surroundings
from admission.quota.views import Views
from apis.garden.v1beta1.register import BY_PLURAL, RESOURCES, SHOOT, SHOOT_LIMIT_RANGE
from apis.meta.request import Attributes
from apis.meta.resource import Resource
from apis.meta.transaction import Committed, Object, Record
from quotaapi.auth.certificates import CertificateAuthenticator
from quotaapi.auth.interface import Authenticator
from quotaapi.auth.standalone import AllowAuthenticated, NoNamespaces, UncheckedReferences
from quotaapi.auth.tokens import TokenAuthenticator
from quotaapi.config import Config
from quotaapi.controllers.lifetime import Lifetime
from quotaapi.directory import CacheDirectory
from quotaapi.endpoints import discovery, metrics
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.health import Health, alive
from quotaapi.endpoints.mutations import Mutations
from quotaapi.endpoints.routes import dispatcher
from quotaapi.endpoints.watching import Watches
from quotaapi.filters import chain
from quotaapi.filters.accounting import RequestCounts
from quotaapi.filters.inflight import ReadLimit
from quotaapi.lookups import NewestRecords
from quotaapi.registry import identity, selection
from quotaapi.registry.store import Store
from quotaapi.registry.wiring import Admit, Machinery
from quotaapi.server.listener import WebHandler
from quotaapi.server.probe import EtcdProbe
from quotaapi.server.statistics import Numbers
from storage import stack
from storage.etcd.client import Client, tls_context
from storage.etcd.compaction import Compaction
from storage.etcd.group_commit import GroupCommit
from storage.etcd.merging import Limits
from storage.etcd.store import EtcdStore

_log = logging.getLogger(__name__)

_REQUEST_ROOM = 0.9
"""Of etcd's --max-request-bytes, what a group of transactions may fill: the rest is framing."""

_VIEWS_PER_QUOTA = 10
"""Decoded bindings and routes that are kept for each quota that is."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Storage:
    """What speaks to etcd."""

    client: Client
    store: EtcdStore
    group_commit: GroupCommit
    compaction: Compaction
    stack: stack.Stack


@dataclass(frozen=True, slots=True)
class Server:
    """What `lifecycle` starts and stops."""

    storage: Storage
    evaluator: Evaluator
    lifetime: Lifetime
    probe: EtcdProbe
    mutations: Mutations
    watches: Watches
    handler: WebHandler


@dataclass(slots=True)
class Phase:
    """Whether the server is going away: then it is not ready, and load balancers look elsewhere."""

    stopping: bool = False


def build_storage(config: Config, endpoints: tuple[str, ...]) -> Storage:
    """To be called inside the event loop."""
    client = Client(endpoints, tls=_etcd_tls(config, endpoints))
    operations = config.etcd_max_txn_ops
    store = EtcdStore(client, prefix=config.etcd_prefix, max_operations=operations)
    room = int(config.etcd_max_request_bytes * _REQUEST_ROOM)
    group_commit = GroupCommit(store, limits=Limits(operations=operations, request_bytes=room))
    built = stack.build(
        backend=store,
        commit=group_commit.commit,
        max_operations=group_commit.max_operations,
        extracts={resource.plural: selection.extract(resource) for resource in RESOURCES},
        monotonic=time.monotonic,
        jitter=random.random,
        limits=stack.Limits(window_events=config.watch_cache_size),
    )
    interval = config.etcd_compaction_interval_seconds
    compaction = Compaction(store, group_commit.commit, interval_seconds=interval)
    return Storage(client, store, group_commit, compaction, built)


def _etcd_tls(config: Config, endpoints: tuple[str, ...]) -> ssl.SSLContext | None:
    if not any(endpoint.startswith("https://") for endpoint in endpoints):
        return None
    return tls_context(
        ca_file=str(config.etcd_cafile or ""),
        cert_file=str(config.etcd_certfile or ""),
        key_file=str(config.etcd_keyfile or ""),
    )


def build(config: Config, storage: Storage, tasks: asyncio.TaskGroup, phase: Phase) -> Server:
    """Everything above etcd; `tasks` will own the writes. Raises OSError, TokenFileError."""
    built = storage.stack
    around = Surroundings(CacheDirectory(built.reader), utc_now, identity.new_uid)
    evaluator = Evaluator(
        built.transactor,
        around,
        workers=config.quota_workers,
        timeout_seconds=config.admission_timeout_seconds,
        views=Views(config.quota_cache_size * _VIEWS_PER_QUOTA),
    )
    rests = _registry(built, evaluator)
    mutations = Mutations(tasks, config.max_mutating_requests_inflight)
    watches = Watches()
    api = Api(
        rests,
        mutations,
        watches,
        random.Random(),  # noqa: S311 -- spreads times, keeps no secret
        min_request_timeout_seconds=config.min_request_timeout_seconds,
    )
    probe = EtcdProbe(storage.store.current_revision)
    counts = RequestCounts(tuple(rests), time.monotonic)
    health = Health(_checks(phase, probe, built), lambda why: _log.warning("%s", why))
    numbers = Numbers(storage, evaluator, mutations, watches)
    pages = {
        **discovery.pages(RESOURCES, (*health.paths, "/metrics")),
        "/metrics": metrics.page((counts.statistics, numbers.statistics)),
    }
    filters = chain.Filters(
        health=health,
        authenticators=_authenticators(config),
        authorizer=AllowAuthenticated(),
        resources=BY_PLURAL,
        counts=counts,
        reads=ReadLimit(config.max_requests_inflight),
        mutations=mutations,
        request_timeout_seconds=config.request_timeout_seconds,
        clock=utc_now,
        new_id=identity.new_uid,
    )
    lifetime = Lifetime(rests[SHOOT.plural], mutations.run, utc_now)
    handler = chain.build(filters, dispatcher(api, pages))
    return Server(storage, evaluator, lifetime, probe, mutations, watches, handler)


def _registry(built: stack.Stack, evaluator: Evaluator) -> Mapping[str, Store]:
    newest = NewestRecords(built.reader, built.transactor)
    plugins = _chain(newest)
    admit = _gate(evaluator)

    def store(resource: Resource) -> Store:
        return Store(
            Machinery(
                resource=resource,
                reader=built.reader,
                transactor=built.transactor,
                mutate=plugins.mutate,
                validate=plugins.validate,
                admit=_remembering(admit, newest) if resource is SHOOT_LIMIT_RANGE else admit,
                clock=utc_now,
                new_uid=identity.new_uid,
                random_suffix=identity.random_suffix,
                # Nobody collects garbage here: a finalizer for it would never be removed.
                garbage_collected=False,
            )
        )

    return {resource.plural: store(resource) for resource in RESOURCES}


def _chain(newest: NewestRecords) -> Chain:
    """The plugins in their order; accounts, which come last, are the gate's."""
    ranges = ShootLimitRange(newest, newest, newest)
    return Chain(
        mutating=(CreatedBy(), ranges, LifetimeAnnotation(newest, utc_now)),
        validating=(
            NamespaceLifecycle(NoNamespaces()),
            ReferenceManager(UncheckedReferences(), newest),
            ranges,
        ),
    )


def _gate(evaluator: Evaluator) -> Admit:
    """The evaluator as the registry, which knows nothing of admission, calls it."""

    async def admit(
        attributes: Attributes, key: str, old: Record | None, obj: Object | None
    ) -> Committed | None:
        return await evaluator.admit(Intent(attributes, key, old, obj))

    return admit


def _remembering(admit: Admit, newest: NewestRecords) -> Admit:
    async def remember(
        attributes: Attributes, key: str, old: Record | None, obj: Object | None
    ) -> Committed | None:
        committed = await admit(attributes, key, old, obj)
        if committed is not None:
            newest.learn_ranges(committed)
        return committed

    return remember


def _authenticators(config: Config) -> tuple[Authenticator, ...]:
    """Asked in this order. A certificate is the connection's, so it comes before what one request says."""
    found: list[Authenticator] = [CertificateAuthenticator()]
    if config.token_auth_file is not None:
        found.append(TokenAuthenticator.of_file(config.token_auth_file))
    return tuple(found)


def _checks(
    phase: Phase, probe: EtcdProbe, built: stack.Stack
) -> Mapping[str, Mapping[str, Callable[[], str]]]:
    def shutdown() -> str:
        return "the server is shutting down" if phase.stopping else ""

    def watch_cache() -> str:
        return "" if built.reader.synced else "the watch cache is not filled yet"

    ready = {
        "ping": alive,
        "etcd": probe.check,
        "watch-cache": watch_cache,
        "shutdown": shutdown,
    }
    return {
        "livez": {"ping": alive},
        "readyz": ready,
        "healthz": {"ping": alive, "etcd": probe.check},
    }
