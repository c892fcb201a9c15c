"""CloudProfile: what machines and volumes a provider offers, and hence what a cluster costs."""

from apis.garden.v1beta1.common import AGE
from apis.garden.v1beta1.metrics import CLASS_PATTERN
from apis.garden.v1beta1.workers import PROVIDERS, providers_in
from apis.meta.resource import Column, Resource
from apis.meta.schema import Schema
from apis.meta.structure import (
    Boolean,
    ListOf,
    ListType,
    Node,
    QuantityText,
    String,
    Struct,
)
from apis.meta.transaction import Header, Object

_MACHINE_TYPE: dict[str, Node] = {
    "name": String(doc="The name that workers use.", min_length=1),
    "cpu": QuantityText(doc="CPUs of one machine.", minimum="0"),
    "gpu": QuantityText(doc="GPUs of one machine.", minimum="0", default="0"),
    "memory": QuantityText(doc="Memory of one machine.", minimum="0"),
    "usable": Boolean(doc="Whether clusters may use it."),
}

_OWN_VOLUME: dict[str, Node] = {
    "volumeType": String(
        doc="The class of the volume that every machine of this type has.", pattern=CLASS_PATTERN
    ),
    "volumeSize": QuantityText(doc="The size of that volume.", minimum="0"),
}

_MACHINE_ALIASES = {
    "cpu": ("vcpu", "cores", "cpuCount", "numCpus"),
    "gpu": ("vgpu", "gpuCount", "numGpus", "accelerators"),
    "memory": ("mem", "ram", "memorySize"),
    "usable": ("available", "enabled"),
}

_OWN_VOLUME_ALIASES = {"volumeType": ("diskType",), "volumeSize": ("diskSize",)}

_VOLUME_TYPES = ListOf(
    doc="The volume types on offer.",
    items=Struct(
        doc="A volume type.",
        fields={
            "name": String(doc="The name that workers use.", min_length=1),
            "class": String(
                doc="The class, which quotas count as storage.<class>.", pattern=CLASS_PATTERN
            ),
            "usable": Boolean(doc="Whether clusters may use it."),
        },
        required=("name", "class"),
        preserve_unknown=True,
        aliases={
            "class": ("storageClass", "volumeClass"),
            "usable": _MACHINE_ALIASES["usable"],
        },
    ),
    semantics=ListType.MAP,
    keys=("name",),
)


def _provider(name: str) -> Struct:
    """OpenStack's machine types bring their volume; elsewhere a worker names its own."""
    own, own_aliases = (_OWN_VOLUME, _OWN_VOLUME_ALIASES) if name == "openstack" else ({}, {})
    machine_types = ListOf(
        doc="The machine types on offer.",
        items=Struct(
            doc="A machine type.",
            fields={**_MACHINE_TYPE, **own},
            required=("name", "cpu", "memory", *own),
            preserve_unknown=True,
            aliases={**_MACHINE_ALIASES, **own_aliases},
        ),
        semantics=ListType.MAP,
        keys=("name",),
    )
    constraints = Struct(
        doc="What clusters can be made of.",
        fields={"machineTypes": machine_types, "volumeTypes": _VOLUME_TYPES},
        preserve_unknown=True,
        aliases={"machineTypes": (), "volumeTypes": ()},
    )
    return Struct(
        doc=f"What {name} offers.",
        fields={"constraints": constraints},
        preserve_unknown=True,
        aliases={"constraints": ()},
    )


def _provider_cell(obj: Object, _header: Header) -> object:
    return ", ".join(providers_in(obj.get("spec")))


CLOUD_PROFILE = Resource(
    kind="CloudProfile",
    plural="cloudprofiles",
    singular="cloudprofile",
    short_names=("cprofile", "cpfl"),
    schema=Schema(
        Struct(
            doc="What a cloud provider offers to clusters.",
            fields={
                "spec": Struct(
                    doc="The offers, by provider.",
                    fields={provider: _provider(provider) for provider in PROVIDERS},
                    preserve_unknown=True,
                )
            },
        )
    ),
    namespaced=False,
    columns=(Column("Provider", _provider_cell, description="The cloud provider."), AGE),
)
