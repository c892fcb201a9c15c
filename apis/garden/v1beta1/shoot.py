"""Shoot: a cluster. What quotas count is declared; everything else is preserved as it came."""

from collections.abc import Iterator
from typing import Final

from apis.garden.v1beta1.bindings import BINDING_PLURALS
from apis.garden.v1beta1.common import (
    AGE,
    amounts_text,
    at,
    bounded,
    object_name,
    own_namespace,
    text_at,
    text_cell,
)
from apis.garden.v1beta1.workers import PROVIDERS, provider_of, providers_in, workers_of
from apis.meta import fields
from apis.meta.fields import FieldError
from apis.meta.resource import Column, Resource
from apis.meta.schema import Schema
from apis.meta.structure import (
    Boolean,
    Format,
    Integer,
    IntOrString,
    ListOf,
    ListType,
    Node,
    String,
    Struct,
)
from apis.meta.transaction import Header, Object

EXPIRATION = "shoot.garden.sapcloud.io/expirationTimestamp"
"""The annotation that says when a shoot is deleted."""

CONFIRMATION = "confirmation.garden.sapcloud.io/deletion"
"""The annotation that says that a shoot may be deleted, for where deletions are to be confirmed."""

CREATION_TIME = "quota.garden.sapcloud.io/creationTime"
"""The annotation that says since when a cluster that is created again has lived."""

MAX_MACHINES = 2**31 - 1

MAX_WORKERS = 1_000
"""Groups of one cluster, which are priced, compared and limited one by one while others wait: some
ten milliseconds. Clusters have a dozen."""

DEFAULT_BINDING_KIND = "SecretBinding"

WITHOUT_MACHINES = frozenset({"local", "vagrant"})
"""Providers that run a cluster on the spot: worker groups are optional."""

OWN_VOLUMES = frozenset({"openstack"})
"""Providers whose machine types bring their volume."""

_PERCENTAGE = r"^(100|[0-9]{1,2})%$"

_WORKER: dict[str, Node] = {
    "name": String(doc="The name of the group.", format=Format.DNS_LABEL),
    "machineType": String(doc="A machine type of the cloud profile.", min_length=1),
    "autoScalerMin": Integer(doc="The least machines.", minimum=0, maximum=MAX_MACHINES),
    "autoScalerMax": Integer(
        doc="The most machines; these are what is charged.", minimum=0, maximum=MAX_MACHINES
    ),
    "maxSurge": IntOrString(
        doc="Machines above the wanted number during an update.",
        minimum=0,
        pattern=_PERCENTAGE,
        default=1,
    ),
    "maxUnavailable": IntOrString(
        doc="Machines that may be missing during an update.",
        minimum=0,
        pattern=_PERCENTAGE,
        default=0,
    ),
}

_WORKER_VOLUME: dict[str, Node] = {
    "volumeType": String(doc="A volume type of the cloud profile.", min_length=1),
    "volumeSize": String(doc="The size of each machine's volume.", pattern=r"^[1-9][0-9]{0,9}Gi$"),
}


_WORKER_ALIASES = {
    "machineType": ("instanceType",),
    "autoScalerMin": ("min", "minimum", "minSize", "minCount", "minMachines"),
    "autoScalerMax": ("max", "maximum", "maxSize", "maxCount", "maxMachines"),
}

_WORKER_VOLUME_ALIASES = {"volumeType": ("diskType",), "volumeSize": ("diskSize",)}


def _provider(name: str) -> Struct:
    volume = {} if name in OWN_VOLUMES else _WORKER_VOLUME
    volume_aliases = {} if name in OWN_VOLUMES else _WORKER_VOLUME_ALIASES
    worker = Struct(
        doc="A group of equal machines.",
        fields={**_WORKER, **volume},
        required=("name", "machineType", *volume, "autoScalerMin", "autoScalerMax"),
        preserve_unknown=True,
        aliases={**_WORKER_ALIASES, **volume_aliases},
    )
    optional = name in WITHOUT_MACHINES
    workers = ListOf(
        doc="The worker groups.",
        items=worker,
        semantics=ListType.MAP,
        keys=("name",),
        min_items=None if optional else 1,
        max_items=MAX_WORKERS,
    )
    zones = ListOf(
        doc="The zones of the machines.",
        items=String(doc="a zone", min_length=1),
        semantics=ListType.SET,
    )
    return Struct(
        doc=f"The cluster on {name}.",
        fields={"workers": workers, "zones": zones},
        required=() if optional else ("workers",),
        preserve_unknown=True,
        aliases={"workers": ("workerGroups", "workerPools", "nodePools")},
    )


_CLOUD = Struct(
    doc="Where the cluster runs: exactly one provider.",
    fields={
        "profile": object_name("The cloud profile.", immutable=True),
        "region": String(doc="The region of the provider.", min_length=1, immutable=True),
        "secretBindingRef": Struct(
            doc="The binding, in the shoot's namespace, to whose quotas the cluster is charged.",
            fields={
                "kind": String(
                    doc="Its kind.", enum=tuple(BINDING_PLURALS), default=DEFAULT_BINDING_KIND
                ),
                "name": object_name("Its name."),
            },
            required=("kind", "name"),
            immutable=True,
        ),
        "seed": String(doc="The seed that runs the control plane."),
        **{provider: _provider(provider) for provider in PROVIDERS},
    },
    required=("profile", "region", "secretBindingRef"),
    preserve_unknown=True,
)

_SPEC = Struct(
    doc="The cluster that is wanted.",
    fields={
        "cloud": _CLOUD,
        "kubernetes": Struct(
            doc="The cluster's Kubernetes.",
            fields={
                "version": String(doc="Its version.", min_length=1),
                "allowPrivilegedContainers": Boolean(
                    doc="Whether privileged containers may run.", default=True
                ),
            },
            required=("version",),
            preserve_unknown=True,
        ),
        "addons": Struct(
            doc="What is installed into the cluster.",
            fields={
                "nginx-ingress": Struct(
                    doc="An ingress controller, which takes a load balancer.",
                    fields={"enabled": Boolean(doc="Whether it is installed.")},
                    preserve_unknown=True,
                    aliases={"enabled": ()},
                )
            },
            preserve_unknown=True,
            aliases={"nginx-ingress": ("nginx",)},
        ),
    },
    required=("cloud", "kubernetes"),
    preserve_unknown=True,
    aliases={"cloud": (), "addons": ()},
)


def _rules(new: Object, old: Object | None) -> Iterator[FieldError]:
    cloud = at(new, "spec", "cloud")
    if type(cloud) is dict:
        yield from _provider_errors(cloud)
        yield from _switch_errors(new, old)
        yield from _worker_errors(new)


def _provider_errors(cloud: Object) -> list[FieldError]:
    first, *others = providers_in(cloud) or [""]
    choice = ", ".join(PROVIDERS)
    if not first:
        return [fields.required("spec.cloud", f"exactly one of {choice} must be given")]
    detail = f"{first} is given already: exactly one of {choice} must be given"
    return [fields.forbidden(f"spec.cloud.{other}", detail) for other in others]


def _switch_errors(new: Object, old: Object | None) -> list[FieldError]:
    """A cluster does not move to another provider."""
    before = provider_of(old) if old is not None else None
    after = provider_of(new)
    if before is None or after is None or before == after:
        return []
    return [fields.forbidden(f"spec.cloud.{after}", f"the provider is {before} and is immutable")]


def _worker_errors(new: Object) -> Iterator[FieldError]:
    for path, worker in workers_of(new):
        least, most = worker.get("autoScalerMin"), worker.get("autoScalerMax")
        if type(least) is int and type(most) is int and 0 <= most < least:
            detail = f"must be greater than or equal to autoScalerMin ({least})"
            yield fields.invalid(f"{path}.autoScalerMax", most, detail)


def binding_of(shoot: Object) -> tuple[str, str]:
    """(kind, name) of the binding of a shoot, in the shoot's namespace."""
    kind = text_at(shoot, "spec", "cloud", "secretBindingRef", "kind") or DEFAULT_BINDING_KIND
    return kind, text_at(shoot, "spec", "cloud", "secretBindingRef", "name")


def _binding_keys(obj: Object) -> tuple[str, ...]:
    kind, name = binding_of(obj)
    plural = BINDING_PLURALS.get(kind)
    return () if plural is None else (f"{plural}/{own_namespace(obj)}/{name}",)


def _charge(_obj: Object, header: Header) -> object:
    """Without `shoots`, which is 1 for every shoot."""
    charge = header.charge or {}
    return amounts_text({name: amount for name, amount in charge.items() if name != "shoots"})


def _expires(obj: Object, _header: Header) -> object:
    return text_at(obj, "metadata", "annotations", EXPIRATION)


def _progress(obj: Object, _header: Header) -> object:
    progress = at(obj, "status", "lastOperation", "progress")
    return f"{progress}%" if type(progress) is int else None


MAX_CONTENT_BYTES: Final = 512 * 1024
"""Of spec and status together: a third of what etcd takes in one request, so that annotations (256 KiB
at most), managedFields and the accounts always fit beside it. An ordinary Shoot has one or two KiB, one with a
thousand worker groups some 200."""

SHOOT = Resource(
    kind="Shoot",
    max_content_bytes=MAX_CONTENT_BYTES,
    plural="shoots",
    singular="shoot",
    schema=Schema(
        Struct(
            doc="A Kubernetes cluster. It is deleted at the time in its annotation "
            "shoot.garden.sapcloud.io/expirationTimestamp (RFC 3339), which is at most its creation "
            "plus the shortest clusterLifetimeDays of its quotas unless a sponsor sets it later. Fields that "
            "are not described here are kept as they are; spec and status have at most 512 KiB as JSON.",
            fields={
                "spec": _SPEC,
                "status": Struct(doc="The cluster that is there.", preserve_unknown=True),
            },
            required=("spec",),
        )
    ),
    columns=(
        Column(
            "CloudProfile",
            text_cell("spec", "cloud", "profile"),
            description="The cloud profile that prices the cluster.",
        ),
        Column(
            "Version",
            text_cell("spec", "kubernetes", "version"),
            description="The version of Kubernetes.",
        ),
        Column(
            "Binding",
            text_cell("spec", "cloud", "secretBindingRef", "name"),
            description="The binding to whose quotas the cluster is charged.",
        ),
        Column("Charge", _charge, description="What the cluster is charged, at its largest."),
        Column("Expires", _expires, description="When the cluster is deleted."),
        Column("Seed", text_cell("spec", "cloud", "seed"), priority=1, description="The seed."),
        Column(
            "Domain",
            text_cell("spec", "dns", "domain"),
            priority=1,
            description="The domain of the cluster.",
        ),
        Column(
            "Operation",
            text_cell("status", "lastOperation", "state"),
            priority=1,
            description="The state of the last operation.",
        ),
        Column(
            "Progress", _progress, priority=1, description="How far the last operation has come."
        ),
        AGE,
    ),
    has_status=True,
    rules=bounded(_rules),
    selectable_fields={
        "spec.cloud.profile": lambda obj: text_at(obj, "spec", "cloud", "profile"),
        "spec.cloud.secretBindingRef.name": lambda obj: binding_of(obj)[1],
    },
    indexes={
        "binding": _binding_keys,
        "profile": lambda obj: (text_at(obj, "spec", "cloud", "profile"),),
    },
)
