"""What a shoot asks for, before prices: its worker pools and its load balancers.

A pool is known by what it demands. Renaming one is removing one and adding one; its
autoScalerMin, labels, annotations and order are no matter of quota.
"""

from collections.abc import Collection, Mapping
from typing import Any

from admission.metering.prices import nanos
from apis.garden.v1beta1.shoot import OWN_VOLUMES
from apis.garden.v1beta1.workers import PROVIDERS
from apis.meta.fields import FieldError, not_supported
from apis.meta.transaction import Object
from apis.meta.values import valueclass


@valueclass
class Pool:
    """One worker pool. `path` is its field path; absent texts are empty.

    `volume_size` is in nanos, None where it is not given or the machine type brings the volume.
    """

    path: str
    name: str
    machine_type: str
    volume_type: str
    volume_size: int | None
    minimum: int
    maximum: int


@valueclass
class Demand:
    """Everything of a shoot that a charge depends on. `provider` is "" where none is named."""

    profile: str
    provider: str
    pools: tuple[Pool, ...]
    load_balancers: int


def demand_of(shoot: Object) -> Demand:
    """Read a valid shoot."""
    cloud = shoot["spec"]["cloud"]
    provider = provider_of(cloud)
    workers = (cloud[provider] or {}).get("workers") or () if provider else ()
    own_volumes = provider in OWN_VOLUMES
    pools = tuple(
        Pool(
            path=f"spec.cloud.{provider}.workers[{index}]",
            name=worker.get("name") or "",
            machine_type=worker.get("machineType") or "",
            volume_type="" if own_volumes else worker.get("volumeType") or "",
            volume_size=None if own_volumes else _size(worker.get("volumeSize")),
            minimum=worker.get("autoScalerMin") or 0,
            maximum=worker.get("autoScalerMax") or 0,
        )
        for index, worker in enumerate(workers)
    )
    return Demand(cloud.get("profile") or "", provider, pools, 1 + nginx_enabled(shoot))


def provider_of(cloud: Mapping[str, Any]) -> str:
    """Which of the providers a valid `spec.cloud` names: it names one."""
    for provider in PROVIDERS:
        if provider in cloud:
            return provider
    return ""


def nginx_enabled(shoot: Object) -> bool:
    """The nginx-ingress addon has a load balancer of its own."""
    addon = (shoot["spec"].get("addons") or {}).get("nginx-ingress") or {}
    return addon.get("enabled") is True


def same_demand(new: Object, old: Object) -> bool:
    """Whether both are charged the same by the same prices. Both are valid."""
    if _charged_fields(new) == _charged_fields(old):
        return True
    a, b = demand_of(new), demand_of(old)
    if (a.provider, a.load_balancers) != (b.provider, b.load_balancers):
        return False
    return _by_type(a) == _by_type(b)


def is_reduction(new: Object, old: Object) -> bool:
    """Whether `new` asks for no more of anything than `old`, whatever the prices are.

    Machines are counted per machine type and storage per volume type: a charge is linear in
    these, so where none of them grows no metric does. A type that `old` does not use has zero
    there, so a new type is never a reduction.
    """
    a, b = demand_of(new), demand_of(old)
    if a.provider != b.provider or a.load_balancers > b.load_balancers:
        return False
    machines, storage = _totals(a)
    old_machines, old_storage = _totals(b)
    return _within(machines, old_machines) and _within(storage, old_storage)


def forbidden_machine_types(
    shoot: Object, old: Object | None, allowed: Collection[str]
) -> list[FieldError]:
    """The machine types that a quota does not allow, of pools that are new or have grown.

    A pool keeps what it has while its name and type stay: a list that was tightened later evicts
    nothing and blocks no reduction.
    """
    kept: dict[tuple[str, str], int] = {}
    if old is not None:
        kept = {(p.name, p.machine_type): p.maximum for p in demand_of(old).pools}
    listed = sorted(allowed)
    return [
        not_supported(f"{pool.path}.machineType", pool.machine_type, listed)
        for pool in demand_of(shoot).pools
        if pool.machine_type
        and pool.machine_type not in allowed
        and kept.get((pool.name, pool.machine_type), -1) < pool.maximum
    ]


def _size(value: object) -> int | None:
    return None if value is None else nanos(value)


def _charged_fields(shoot: Object) -> tuple[object, bool]:
    cloud = shoot["spec"]["cloud"]
    provider = provider_of(cloud)
    workers = (cloud[provider] or {}).get("workers") if provider else None
    return (provider, workers), nginx_enabled(shoot)


def _by_type(demand: Demand) -> dict[tuple[str, str, int | None], int]:
    totals: dict[tuple[str, str, int | None], int] = {}
    for pool in demand.pools:
        key = (pool.machine_type, pool.volume_type, pool.volume_size)
        totals[key] = totals.get(key, 0) + pool.maximum
    # A pool of no machines demands nothing, yet its types must be known: it stays in.
    return totals


def _totals(demand: Demand) -> tuple[dict[str, int], dict[str, int]]:
    machines: dict[str, int] = {}
    storage: dict[str, int] = {}
    for pool in demand.pools:
        machines[pool.machine_type] = machines.get(pool.machine_type, 0) + pool.maximum
        size = pool.maximum * (pool.volume_size or 0)
        storage[pool.volume_type] = storage.get(pool.volume_type, 0) + size
    return machines, storage


def _within(new: Mapping[str, int], old: Mapping[str, int]) -> bool:
    return all(key in old and amount <= old[key] for key, amount in new.items())
