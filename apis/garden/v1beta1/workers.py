"""Where a shoot keeps its provider and its workers."""

from typing import Any

from apis.garden.v1beta1.common import dict_at, list_at
from apis.meta.transaction import Object

PROVIDERS: tuple[str, ...] = (
    "alicloud", "aws", "azure", "gcp", "local", "openstack", "packet", "vagrant",
)  # fmt: skip


def providers_in(spec: object) -> list[str]:
    """The providers that a `spec.cloud`, or a profile's `spec`, names, in its order."""
    return [name for name in dict_at(spec) if name in PROVIDERS]


def provider_of(shoot: Object) -> str | None:
    """The provider of a shoot; None unless there is exactly one."""
    found = providers_in(dict_at(shoot, "spec", "cloud"))
    return found[0] if len(found) == 1 else None


def workers_of(shoot: Object) -> list[tuple[str, dict[str, Any]]]:
    """(field path, worker group) of every group, whatever the provider."""
    cloud = dict_at(shoot, "spec", "cloud")
    return [
        (f"spec.cloud.{provider}.workers[{index}]", worker)
        for provider in providers_in(cloud)
        for index, worker in enumerate(list_at(cloud, provider, "workers"))
        if type(worker) is dict
    ]
