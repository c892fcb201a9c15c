"""Objects that are valid as they come; a test names only what it is about."""

from collections.abc import Iterable, Mapping, Sequence

from apis.meta.transaction import Object

API_VERSION = "garden.sapcloud.io/v1beta1"

MACHINES: Mapping[str, Mapping[str, str]] = {
    "small": {"cpu": "2", "gpu": "0", "memory": "8Gi"},
    "large": {"cpu": "4", "gpu": "0", "memory": "16Gi"},
    "gpu": {"cpu": "4", "gpu": "1", "memory": "61Gi"},
}
VOLUMES: Mapping[str, str] = {"gp2": "standard", "io1": "premium"}


def an_object(kind: str, *, name: str, namespace: str = "", **fields: object) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, **fields}


def a_quota(
    *,
    name: str = "quota",
    namespace: str = "garden-trial",
    scope: str = "secret",
    metrics: Mapping[str, str] | None = None,
    days: int | None = None,
) -> Object:
    spec: Object = {"scope": scope, "metrics": dict(metrics or {"cpu": "20"})}
    if days is not None:
        spec["clusterLifetimeDays"] = days
    return an_object("Quota", name=name, namespace=namespace, spec=spec)


def a_binding(
    *,
    name: str = "binding",
    namespace: str = "garden-dev",
    kind: str = "CrossSecretBinding",
    quotas: Iterable[str] = (),
    quota_namespace: str = "garden-trial",
    secret: str = "account",
) -> Object:
    """A PrivateSecretBinding's secret lies in its own namespace, the others' with the quotas."""
    secret_ref = {"name": secret}
    if kind != "PrivateSecretBinding":
        secret_ref["namespace"] = quota_namespace
    return an_object(
        kind,
        name=name,
        namespace=namespace,
        secretRef=secret_ref,
        quotas=[{"namespace": quota_namespace, "name": quota} for quota in quotas],
    )


def a_profile(
    *,
    name: str = "aws",
    machines: Mapping[str, Mapping[str, str]] = MACHINES,
    volumes: Mapping[str, str] = VOLUMES,
) -> Object:
    constraints = {
        "machineTypes": [{"name": machine, **facts} for machine, facts in machines.items()],
        "volumeTypes": [{"name": volume, "class": klass} for volume, klass in volumes.items()],
    }
    return an_object("CloudProfile", name=name, spec={"aws": {"constraints": constraints}})


def a_worker(
    *,
    name: str = "worker",
    machine: str = "small",
    maximum: int = 1,
    minimum: int = 1,
    volume: str = "gp2",
    size: str = "10Gi",
) -> Object:
    return {
        "name": name,
        "machineType": machine,
        "volumeType": volume,
        "volumeSize": size,
        "autoScalerMin": minimum,
        "autoScalerMax": maximum,
    }


def a_shoot(
    *,
    name: str = "shoot",
    namespace: str = "garden-dev",
    binding: str = "binding",
    binding_kind: str = "CrossSecretBinding",
    profile: str = "aws",
    workers: Sequence[Object] | None = None,
    nginx: bool = False,
) -> Object:
    """One small machine with 10Gi of standard disk: 2 cpu, 8Gi, 1 loadbalancer, 1 shoot."""
    spec: Object = {
        "cloud": {
            "profile": profile,
            "region": "eu-west-1",
            "secretBindingRef": {"kind": binding_kind, "name": binding},
            "aws": {
                "workers": list(workers) if workers is not None else [a_worker()],
                "zones": ["eu-west-1a"],
            },
        },
        "kubernetes": {"version": "1.14.0"},
    }
    if nginx:
        spec["addons"] = {"nginx-ingress": {"enabled": True}}
    return an_object("Shoot", name=name, namespace=namespace, spec=spec)
