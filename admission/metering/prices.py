"""What a CloudProfile lists: the resources of its machine types and the classes of its volumes.

A shoot is charged by its profile's list. What it was admitted under is stored with it
(`Header.prices`) and counts where the profile no longer lists a type:

    {"machines": {"m4.large": {"cpu": "2", "gpu": "0", "memory": "8Gi"}},
     "volumes": {"gp2": "standard"}}

A machine type that brings its own volume (OpenStack) has `volumeType` and `volumeSize` besides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from admission.metering.cache import Parsed
from apis.garden.v1beta1.workers import PROVIDERS
from apis.meta.quantity import coerce, nanos_of
from apis.meta.transaction import Object, Record

_LISTED = ("cpu", "gpu", "memory", "volumeType", "volumeSize")


@dataclass(frozen=True, slots=True)
class MachinePrice:
    """One machine of a type, amounts in nanos. `listed` is what is stored with a shoot that uses it."""

    cpu: int
    gpu: int
    memory: int
    listed: Mapping[str, str]
    usable: bool = True
    volume_class: str = ""
    volume_size: int = 0


@dataclass(frozen=True, slots=True)
class VolumePrice:
    storage_class: str
    usable: bool = True


@dataclass(frozen=True, slots=True)
class PriceList:
    """One provider's types. `volumes` is by name; `classes` has the classes that the names have."""

    machines: Mapping[str, MachinePrice] = field(default_factory=dict)
    volumes: Mapping[str, VolumePrice] = field(default_factory=dict)
    classes: Mapping[str, VolumePrice] = field(default_factory=dict)

    def volume(self, name: str) -> VolumePrice | None:
        """Shoots name a volume by its type or, where no type has that name, by its class."""
        return self.volumes.get(name) or self.classes.get(name)

    def usable_machines(self) -> list[str]:
        return sorted(name for name, price in self.machines.items() if price.usable)

    def usable_volumes(self) -> list[str]:
        return sorted(name for name, price in self.volumes.items() if price.usable)


NOTHING_LISTED = PriceList()

ProfilePrices = Mapping[str, PriceList]
"""Provider -> its list."""


def of_record(profile: Record) -> ProfilePrices:
    """The price lists of a stored profile; decoded and parsed once per content."""
    return _profiles.of_record(profile)


def of_stored(stored: Mapping[str, Any] | None) -> PriceList:
    """The price list that is stored with a shoot."""
    if not stored:
        return NOTHING_LISTED
    machines = {name: _machine(listed) for name, listed in stored.get("machines", {}).items()}
    volumes = {name: VolumePrice(cls) for name, cls in stored.get("volumes", {}).items()}
    return PriceList(machines, volumes)


def nanos(value: object) -> int:
    """A quantity field's amount in nanos; an absent one is nothing.

    What reaches it has been validated, so anything else than a quantity is a ValueError.
    """
    if value is None:
        return 0
    text = value if isinstance(value, str) else coerce(value)
    if text is None:
        raise ValueError(f"not a quantity: {value!r}")
    return nanos_of(text)


def _parse(profile: Object) -> ProfilePrices:
    spec = profile.get("spec", {})
    return {provider: _list(spec[provider]) for provider in PROVIDERS if provider in spec}


def _list(provider: Mapping[str, Any] | None) -> PriceList:
    constraints = (provider or {}).get("constraints") or {}
    machines = {item["name"]: _machine(item) for item in constraints.get("machineTypes") or ()}
    volumes: dict[str, VolumePrice] = {}
    classes: dict[str, VolumePrice] = {}
    for item in constraints.get("volumeTypes") or ():
        price = VolumePrice(item["class"], _usable(item))
        volumes[item["name"]] = price
        # A class may be named as long as one of its types may be used.
        if price.usable or price.storage_class not in classes:
            classes[price.storage_class] = price
    return PriceList(machines, volumes, classes)


def _machine(item: Mapping[str, Any]) -> MachinePrice:
    listed = {key: str(item[key]) for key in _LISTED if item.get(key) is not None}
    return MachinePrice(
        cpu=nanos(item.get("cpu")),
        gpu=nanos(item.get("gpu")),
        memory=nanos(item.get("memory")),
        listed=listed,
        usable=_usable(item),
        volume_class=item.get("volumeType") or "",
        volume_size=nanos(item.get("volumeSize")),
    )


def _usable(item: Mapping[str, Any]) -> bool:
    """Absent means yes."""
    return item.get("usable") is not False


_profiles: Parsed[ProfilePrices] = Parsed(_parse)
