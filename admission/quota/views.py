"""Quotas and bindings as accounting reads them, and the route of a charge.

Decoded once per stored version: bindings and project quotas rarely change, and a batch reads the
same few for each of its requests. The caches are small dictionaries of the newest version of a
key, dropped wholesale when they are full.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from admission.metering.lifetimes import Life, life_of
from admission.quota.usage import Limit, limits_of
from apis.meta.keys import (
    binding_ledger_key,
    object_key,
    parse_object_key,
    quota_references_key,
)
from apis.meta.transaction import Object, Record, Snapshot

NAME_MAX = 253


@dataclass(frozen=True, slots=True)
class QuotaView:
    """`secret`: one budget for all projects; otherwise a budget for each project on its own.

    `machine_types`: the types allowed, None where all are. `life`: None where it is not limited.
    """

    key: str
    namespace: str
    name: str
    secret: bool
    limits: tuple[Limit, ...]
    hard: Mapping[str, str]
    machine_types: frozenset[str] | None
    life: Life | None
    terminating: bool


@dataclass(frozen=True, slots=True)
class BindingView:
    key: str
    quotas: tuple[tuple[str, str], ...]
    terminating: bool

    @property
    def quota_keys(self) -> tuple[str, ...]:
        return tuple(object_key("quotas", namespace, name) for namespace, name in self.quotas)


@dataclass(frozen=True, slots=True)
class Stop:
    """One quota on a charge's way, with the ledger of the charged namespace on it."""

    quota: str
    usage: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Route:
    """Where the charges of a binding's shoots land. Depends on the stored binding alone: a quota's
    scope is immutable, and a quota that a binding names is not deleted."""

    binding: str
    ledger: str
    stops: tuple[Stop, ...]
    exclusive: frozenset[str]
    shared: frozenset[str]


def quota_view(record: Record) -> QuotaView:
    obj = record.object()
    metadata, spec = obj["metadata"], obj["spec"]
    types = spec.get("machineTypes")
    hard = spec.get("metrics") or {}
    return QuotaView(
        key=record.key,
        namespace=metadata["namespace"],
        name=metadata["name"],
        secret=spec["scope"] == "secret",
        limits=limits_of(hard),
        hard=hard,
        machine_types=frozenset(types) if types is not None else None,
        life=life_of(obj),
        terminating="deletionTimestamp" in metadata,
    )


def quota_references(binding: Object) -> tuple[tuple[str, str], ...]:
    """(namespace, name) of the quotas that a binding names, each once, in its order.

    Raises LookupError for a stored binding of a form that is unknown here: unlike `quotas_of`,
    which answers with nothing, and nothing must be accounted for by guess.
    """
    own = binding["metadata"].get("namespace", "")
    named = ((ref.get("namespace") or own, ref["name"]) for ref in binding.get("quotas") or ())
    return tuple(dict.fromkeys(named))


def binding_view(record: Record) -> BindingView:
    obj = record.object()
    return BindingView(
        key=record.key,
        quotas=quota_references(obj),
        terminating="deletionTimestamp" in obj["metadata"],
    )


def usage_key(namespace: str, quota_namespace: str, quota_name: str) -> str:
    """The key of the QuotaUsage of a quota in a consuming namespace.

    Named `<quota namespace>.<quota name>`: a namespace has no dots, so no two quotas share a
    name. What exceeds a name's length begins with a digest of the whole instead, which is longer
    than any namespace, so that no quota can be named to share it.
    """
    name = f"{quota_namespace}.{quota_name}"
    if len(name) > NAME_MAX:
        digest = hashlib.sha256(name.encode()).hexdigest()
        name = f"{digest}.{name[: NAME_MAX - len(digest) - 1].rstrip('-.')}"
    return object_key("quotausages", namespace, name)


def binding_ledger_of(binding_key: str) -> str:
    parsed = parse_object_key(binding_key)
    if parsed is None:
        raise ValueError(f"not an object's key: {binding_key}")
    return binding_ledger_key(*parsed)


def references_of(quota_key: str) -> str:
    parsed = parse_object_key(quota_key)
    if parsed is None:
        raise ValueError(f"not an object's key: {quota_key}")
    return quota_references_key(parsed[1], parsed[2])


def stop_of(quota: QuotaView, namespace: str) -> Stop:
    return Stop(quota.key, usage_key(namespace, quota.namespace, quota.name), quota.secret)


class Views:
    """Decoded views by key and version. `size`: entries kept per kind.

    The body counts besides the revision: after a restore of etcd the same revision comes again,
    with other contents.
    """

    def __init__(self, size: int = 1000) -> None:
        self._size = size
        self._quotas: dict[str, tuple[Record, QuotaView]] = {}
        self._bindings: dict[str, tuple[Record, BindingView]] = {}
        self._routes: dict[str, tuple[Record, Route]] = {}
        self._written: dict[str, tuple[bytes, QuotaView]] = {}

    def quota(self, record: Record) -> QuotaView:
        found = self._quotas.get(record.key)
        if found is None or not _is_same(found[0], record):
            if len(self._quotas) >= self._size:
                self._quotas.clear()
                self._written.clear()
            body, view = self._written.get(record.key, _NOTHING_WRITTEN)
            if view is None or body is not record.body:
                view = quota_view(record)
            found = self._quotas[record.key] = (record, view)
        return found[1]

    def wrote(self, body: bytes, view: QuotaView) -> None:
        """The quota of `view` was given a new balance, and is stored as `body` if that is committed:
        then it need not be decoded to find that nothing else of it has changed."""
        self._written[view.key] = (body, view)

    def binding(self, record: Record) -> BindingView:
        found = self._bindings.get(record.key)
        if found is None or not _is_same(found[0], record):
            if len(self._bindings) >= self._size:
                self._bindings.clear()
            found = self._bindings[record.key] = (record, binding_view(record))
        return found[1]

    def route(self, record: Record, known: Mapping[str, Snapshot]) -> Route | frozenset[str]:
        """A binding's route, or the keys of the quotas that have to be known first.

        A quota that does not exist makes no stop; whoever charges along the route finds it absent
        and refuses, since the route guards it all the same.
        """
        found = self._routes.get(record.key)
        if found is not None and _is_same(found[0], record):
            return found[1]
        view = self.binding(record)
        if missing := [key for key in view.quota_keys if key not in known]:
            return frozenset(missing)
        route, complete = self._build_route(record, view, known)
        if complete:
            if len(self._routes) >= self._size:
                self._routes.clear()
            self._routes[record.key] = (record, route)
        return route

    def _build_route(
        self, record: Record, view: BindingView, known: Mapping[str, Snapshot]
    ) -> tuple[Route, bool]:
        parsed = parse_object_key(record.key)
        if parsed is None:
            raise ValueError(f"not an object's key: {record.key}")
        quotas = [known[key].record for key in view.quota_keys]
        stops = tuple(stop_of(self.quota(q), parsed[1]) for q in quotas if q is not None)
        ledger = binding_ledger_of(record.key)
        exclusive = {ledger, *(s.usage for s in stops), *(s.quota for s in stops if s.secret)}
        shared = ({record.key} | set(view.quota_keys)) - exclusive
        route = Route(record.key, ledger, stops, frozenset(exclusive), frozenset(shared))
        return route, len(stops) == len(quotas)


_NOTHING_WRITTEN: tuple[bytes, QuotaView | None] = (b"", None)


def _is_same(seen: Record, record: Record) -> bool:
    return seen.mod_revision == record.mod_revision and seen.body == record.body
