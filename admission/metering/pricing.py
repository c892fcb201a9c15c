"""Finds the price of every pool's machine and volume, or all the fields that have none."""

from collections.abc import Mapping
from typing import Any, TypeVar

from admission.metering.demand import Demand, Pool
from admission.metering.evaluators import Machine
from admission.metering.prices import (
    NOTHING_LISTED,
    MachinePrice,
    ProfilePrices,
    VolumePrice,
    of_stored,
)
from apis.garden.v1beta1.shoot import OWN_VOLUMES, WITHOUT_MACHINES
from apis.meta.fields import FieldError, invalid, not_supported, required
from apis.meta.structure import MAX_FAULTS

Price = TypeVar("Price", MachinePrice, VolumePrice)

_NO_MACHINE = MachinePrice(cpu=0, gpu=0, memory=0, listed={})


class Unpriceable(Exception):
    """A shoot whose types have no price; `errors` names the fields to blame, some MAX_FAULTS at most."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = errors


class Pricing:
    """The machines of a demand's pools, in their order; `used` is what was taken of the lists."""

    def __init__(
        self,
        demand: Demand,
        profile: ProfilePrices | None,
        stored_prices: Mapping[str, Any] | None,
        *,
        as_admitted: bool = False,
    ) -> None:
        """`as_admitted`: a stored price goes before today's. Raises Unpriceable."""
        if profile is not None and demand.provider not in profile:
            detail = f"the profile has no {demand.provider} section"
            raise Unpriceable([invalid("spec.cloud.profile", demand.profile, detail)])
        self._provider = demand.provider
        self._listed = NOTHING_LISTED if profile is None else profile[demand.provider]
        self._kept = of_stored(stored_prices)
        self._choose = _as_admitted if as_admitted else _current
        self._errors: list[FieldError] = []
        self._used_machines: dict[str, Mapping[str, str]] = {}
        self._used_volumes: dict[str, str] = {}
        self.machines: list[Machine] = []
        for pool in demand.pools:
            self.machines.append(self._price(pool))
            if len(self._errors) >= MAX_FAULTS:
                break
        if self._errors:
            raise Unpriceable(self._errors)

    @property
    def used(self) -> dict[str, Any]:
        """As it is stored with the shoot; see `prices`."""
        used: dict[str, Any] = {}
        if self._used_machines:
            used["machines"] = self._used_machines
        if self._used_volumes:
            used["volumes"] = self._used_volumes
        return used

    def _price(self, pool: Pool) -> Machine:
        machine = self._machine(pool)
        if self._provider in OWN_VOLUMES:
            volume_class, size = machine.volume_class, machine.volume_size
        else:
            volume_class, size = self._volume_class(pool), pool.volume_size or 0
        return Machine(machine.cpu, machine.gpu, machine.memory, volume_class, size)

    def _machine(self, pool: Pool) -> MachinePrice:
        name = pool.machine_type
        if not name:
            if self._provider not in WITHOUT_MACHINES:
                self._errors.append(required(f"{pool.path}.machineType"))
            return _NO_MACHINE
        price = self._choose(self._listed.machines.get(name), self._kept.machines.get(name))
        if price is None:
            allowed = self._listed.usable_machines()
            self._errors.append(not_supported(f"{pool.path}.machineType", name, allowed))
            return _NO_MACHINE
        self._used_machines[name] = price.listed
        return price

    def _volume_class(self, pool: Pool) -> str:
        """The class, or "" where there is no volume or, noted as an error, no price."""
        name = pool.volume_type
        priced = self._provider not in WITHOUT_MACHINES
        if pool.volume_size is None and (priced or name):
            self._errors.append(required(f"{pool.path}.volumeSize"))
        if not name:
            if priced or pool.volume_size:
                self._errors.append(required(f"{pool.path}.volumeType"))
            return ""
        price = self._choose(self._listed.volume(name), self._kept.volume(name))
        if price is None:
            allowed = self._listed.usable_volumes()
            self._errors.append(not_supported(f"{pool.path}.volumeType", name, allowed))
            return ""
        self._used_volumes[name] = price.storage_class
        return price.storage_class


def _as_admitted(listed: Price | None, kept: Price | None) -> Price | None:
    return kept if kept is not None else _current(listed, None)


def _current(listed: Price | None, kept: Price | None) -> Price | None:
    """The price that counts: today's, as long as the type may be used or the shoot has it already;
    the one that it was admitted under when the profile lists the type no more."""
    if listed is None:
        return kept
    return listed if listed.usable or kept is not None else None
