"""Valid objects by default, and lookups that answer from dictionaries."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from admission.metering.charges import Charged, charge
from admission.plugins.lookups import Phase
from apis.garden.v1beta1.register import BY_KIND
from apis.meta import codec
from apis.meta.keys import object_key
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Header, Object, Record, encode_body

GROUP = "garden.sapcloud.io/v1beta1"
NAMESPACE = "garden-dev"
NOW = datetime(2019, 4, 1, 12, 0, 0, tzinfo=UTC)
USER = UserInfo("mia", ("system:authenticated",))

AWS: Object = {
    "constraints": {
        "machineTypes": [
            {"name": "m4.large", "cpu": "2", "gpu": "0", "memory": "8Gi", "usable": True},
            {"name": "m4.xlarge", "cpu": "4", "gpu": "0", "memory": "16Gi", "usable": True},
            {"name": "m4.16xlarge", "cpu": "64", "gpu": "0", "memory": "256Gi", "usable": False},
            {"name": "p2.xlarge", "cpu": "4", "gpu": "1", "memory": "61Gi"},
        ],
        "volumeTypes": [
            {"name": "gp2", "class": "standard", "usable": True},
            {"name": "io1", "class": "premium", "usable": False},
        ],
    }
}
OPENSTACK: Object = {
    "constraints": {
        "machineTypes": [
            {
                "name": "medium_2_4",
                "cpu": "2",
                "gpu": "0",
                "memory": "4Gi",
                "usable": True,
                "volumeType": "default",
                "volumeSize": "20Gi",
            }
        ]
    }
}
PACKET: Object = {
    "constraints": {
        "machineTypes": [{"name": "c1.small", "cpu": "4", "gpu": "0", "memory": "32Gi"}],
        "volumeTypes": [
            {"name": "storage_1", "class": "standard", "usable": True},
            {"name": "storage_2", "class": "performance", "usable": True},
        ],
    }
}


def a_profile(provider: str = "aws", section: Object | None = None) -> Object:
    default = {"aws": AWS, "openstack": OPENSTACK, "packet": PACKET}.get(provider, {})
    return {
        "apiVersion": GROUP,
        "kind": "CloudProfile",
        "metadata": {"name": provider},
        "spec": {provider: default if section is None else section},
    }


def a_worker(name: str = "cpu-worker", **fields: Any) -> Object:
    """An aws worker; a field that is None is left out."""
    worker = {
        "name": name,
        "machineType": "m4.large",
        "volumeType": "gp2",
        "volumeSize": "20Gi",
        "autoScalerMin": 1,
        "autoScalerMax": 2,
        **fields,
    }
    return {key: value for key, value in worker.items() if value is not None}


def a_shoot(
    *workers: Object,
    provider: str = "aws",
    nginx: bool = False,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    section = {"workers": list(workers)} if workers else {}
    metadata: Object = {
        "name": "demo",
        "namespace": NAMESPACE,
        "creationTimestamp": "2019-04-01T12:00:00Z",
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": GROUP,
        "kind": "Shoot",
        "metadata": metadata,
        "spec": {
            "cloud": {
                "profile": provider,
                "region": "eu-west-1",
                "secretBindingRef": {"name": "core"},
                provider: section,
            },
            "addons": {"nginx-ingress": {"enabled": nginx}},
        },
    }


def a_range(name: str, *limits: Object, **spec: Any) -> Object:
    return {
        "apiVersion": GROUP,
        "kind": "ShootLimitRange",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"limits": list(limits), **spec},
    }


def a_quota(name: str, *, days: int | None = None) -> Object:
    spec: Object = {"scope": "secret", "metrics": {}}
    if days is not None:
        spec["clusterLifetimeDays"] = days
    return {
        "apiVersion": GROUP,
        "kind": "Quota",
        "metadata": {"name": name, "namespace": "garden-trial"},
        "spec": spec,
    }


def a_binding(
    kind: str = "SecretBinding", *, secret: str = "core", quotas: Sequence[str] = ()
) -> Object:
    """`quotas`: `namespace/name`, or `name` alone for the binding's own namespace."""
    refs = [dict(zip(("name", "namespace"), reversed(q.split("/")), strict=False)) for q in quotas]
    return {
        "apiVersion": GROUP,
        "kind": kind,
        "metadata": {"name": "core", "namespace": NAMESPACE},
        "secretRef": {"name": secret},
        "quotas": refs,
    }


def record_of(obj: Object, header: Header | None = None) -> Record:
    metadata = obj["metadata"]
    plural = BY_KIND[obj["kind"]].plural
    key = object_key(plural, metadata.get("namespace", ""), metadata["name"])
    return Record(key, 5, 0, encode_body(obj), header or Header())


def charge_by(
    shoot: Object, profile: Object | None, prices: Mapping[str, Any] | None = None
) -> Charged:
    """By a profile as it is stored, whatever it lacks besides its prices; None: it is gone."""
    stored = None if profile is None else Record("profile", 5, 0, codec.encode(profile))
    return charge(shoot, stored, prices)


def creating(obj: Object, *, user: UserInfo = USER) -> Attributes:
    return _attributes(Operation.CREATE, obj, None, user, "")


def updating(
    obj: Object, old: Object, *, user: UserInfo = USER, subresource: str = ""
) -> Attributes:
    return _attributes(Operation.UPDATE, obj, old, user, subresource)


def _attributes(
    operation: Operation, obj: Object, old: Object | None, user: UserInfo, subresource: str
) -> Attributes:
    metadata = obj["metadata"]
    return Attributes(
        operation,
        BY_KIND[obj["kind"]],
        metadata.get("namespace", ""),
        metadata["name"],
        user,
        obj,
        old,
        subresource,
    )


class World:
    """Every lookup of the plugins, answered from what a test puts in."""

    def __init__(self) -> None:
        self.profiles: dict[str, Object] = {"aws": a_profile()}
        self.ranges: list[Object] = []
        self.quotas: list[Object] = []
        self.prices: Mapping[str, Any] | None = None
        self.confirming: dict[str, bool] = {}
        self.sponsors: set[tuple[str, str]] = set()
        self.unreadable: set[tuple[str, str, str]] = set()
        self.missing_secrets: set[tuple[str, str]] = set()
        self.asked: list[str] = []
        self.phases: dict[str, Phase | None] = {NAMESPACE: Phase.ACTIVE}

    async def profile(self, name: str) -> Record | None:
        return record_of(self.profiles[name]) if name in self.profiles else None

    async def stored_prices(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        return self.prices

    async def limit_ranges(self, namespace: str) -> Sequence[Record]:
        return [record_of(item) for item in self.ranges]

    async def quotas_of(self, namespace: str, kind: str, name: str) -> Sequence[Record]:
        return [record_of(quota) for quota in self.quotas]

    async def may(
        self, user: UserInfo, verb: str, group: str, resource: str, namespace: str, name: str
    ) -> bool:
        self.asked.append(f"{verb} {resource} {namespace}/{name}")
        if verb == "update":
            return (user.name, f"{namespace}/{name}") in self.sponsors
        return (resource, namespace, name) not in self.unreadable

    async def secret_exists(self, namespace: str, name: str) -> bool | None:
        self.asked.append(f"exists {namespace}/{name}")
        return (namespace, name) not in self.missing_secrets

    async def phase(self, name: str) -> Phase | None:
        return self.phases.get(name, Phase.UNKNOWN)

    async def confirms_deletion(self, name: str) -> bool | None:
        return self.confirming.get(name)
