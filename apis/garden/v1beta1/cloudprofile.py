"""CloudProfile: what machines and volumes a provider offers, and hence what a cluster costs."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from apis.garden.v1beta1.amounts import size_errors, size_warnings
from apis.garden.v1beta1.common import AGE, at, bounded, dict_at, list_at, text_at
from apis.garden.v1beta1.metrics import CLASS_PATTERN
from apis.garden.v1beta1.workers import PROVIDERS, providers_in
from apis.meta.fields import FieldError
from apis.meta.resource import Column, Resource
from apis.meta.schema import Schema
from apis.meta.structure import (
    MAX_FAULTS,
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


def _sizes(profile: object) -> dict[tuple[str, str, str], tuple[str, Any]]:
    """(provider, machine type, field) -> (path, size), of every machine type."""
    return {
        (provider, text_at(item, "name"), field): (f"{path}[{index}].{field}", item[field])
        for provider in providers_in(dict_at(profile, "spec"))
        for path in (f"spec.{provider}.constraints.machineTypes",)
        for index, item in enumerate(
            list_at(profile, "spec", provider, "constraints", "machineTypes")
        )
        for field in ("memory", "volumeSize")
        if at(item, field) is not None
    }


def _new_sizes(new: Object, old: Object | None) -> Iterator[tuple[str, Any]]:
    """Those that are not stored already, with their paths."""
    if old is not None and new.get("spec") == old.get("spec"):
        return
    before = _sizes(old)
    for key, (path, size) in _sizes(new).items():
        if key not in before or before[key][1] != size:
            yield path, size


def _rules(new: Object, old: Object | None) -> Iterator[FieldError]:
    for path, size in _new_sizes(new, old):
        yield from size_errors(path, size)


def _warnings(new: Object, old: Object | None) -> list[str]:
    found = (text for path, size in _new_sizes(new, old) for text in size_warnings(path, size))
    return list(islice(found, MAX_FAULTS))


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
    rules=bounded(_rules),
    warnings=_warnings,
    columns=(Column("Provider", _provider_cell, description="The cloud provider."), AGE),
)
