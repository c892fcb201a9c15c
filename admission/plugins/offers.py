"""Warns of names that no CloudProfile offers: a quota or a limit of such a class limits nothing.

They are no faults: a quota may come before the profile whose volumes it counts, and a profile may go.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from admission.metering.prices import ProfilePrices, of_record
from admission.plugins.lookups import AllProfiles
from apis.garden.v1beta1.common import dict_at, list_at, text_at
from apis.garden.v1beta1.metrics import canonical_metric
from apis.garden.v1beta1.quota import QUOTA
from apis.garden.v1beta1.shootlimitrange import AMOUNTS, SHOOT_LIMIT_RANGE
from apis.meta.fields import go_quote
from apis.meta.request import Attributes
from apis.meta.transaction import Object, Record

MAX_TOLD: Final = 10
"""Warnings of one write, and known names that one of them lists."""

_STORAGE: Final = "storage."
_CLASS: Final = "volume class"
_MACHINE_TYPE: Final = "machine type"
_VOLUME_TYPE: Final = "volume type"


@dataclass(frozen=True, slots=True)
class Named:
    """A name of something that profiles offer (`what`), and the path of the field that has it."""

    path: str
    what: str
    name: str


@dataclass(slots=True)
class Offers:
    """The names that profiles know, by what they are names of."""

    known: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, profiles: Iterable[ProfilePrices]) -> "Offers":
        offers = cls({what: set() for what in (_CLASS, _MACHINE_TYPE, _VOLUME_TYPE)})
        for prices in profiles:
            for listed in prices.values():
                own = {price.volume_class for price in listed.machines.values()} - {""}
                offers.known[_CLASS] |= own | set(listed.classes)
                offers.known[_MACHINE_TYPE] |= set(listed.machines)
                offers.known[_VOLUME_TYPE] |= set(listed.volumes) | set(listed.classes)
        return offers

    def lacks(self, named: Named) -> bool:
        return named.name not in self.known[named.what]

    def told(self, named: Named) -> str:
        names = sorted(self.known[named.what])
        some = ", ".join(names[:MAX_TOLD]) + (", …" if len(names) > MAX_TOLD else "")
        rest = f" (known: {some})" if names else ""
        return (
            f"{named.path}: no CloudProfile has the {named.what} {go_quote(named.name)} yet, "
            f"and until then it has no effect{rest}"
        )


class UnofferedNames:
    """A validating plugin that refuses nothing. Only names that a write brings are looked at."""

    def __init__(self, profiles: AllProfiles) -> None:
        self._profiles = profiles

    async def validate(self, attributes: Attributes) -> None:
        names_of = _READERS.get(attributes.resource.plural)
        if names_of is None or attributes.obj is None or attributes.subresource:
            return
        known = (
            set()
            if attributes.old is None
            else {(n.what, n.name) for n in names_of(attributes.old)}
        )
        new = [n for n in names_of(attributes.obj) if (n.what, n.name) not in known]
        if not new or not _unoffered(new, await self._profiles.profiles(newest=False)):
            return
        # The cache may lag behind a profile that was written a moment ago.
        found = _unoffered(new, await self._profiles.profiles(newest=True))
        attributes.warnings.extend(found[:MAX_TOLD])


def _unoffered(names: Iterable[Named], profiles: Sequence[Record]) -> list[str]:
    offers = Offers.of(map(of_record, profiles))
    return [offers.told(named) for named in names if offers.lacks(named)]


def _in_quota(quota: Object) -> Iterator[Named]:
    yield from _classes("spec.metrics", dict_at(quota, "spec", "metrics"))
    for index, name in enumerate(list_at(quota, "spec", "machineTypes")):
        yield Named(f"spec.machineTypes[{index}]", _MACHINE_TYPE, name)


def _in_range(limit_range: Object) -> Iterator[Named]:
    for index, limit in enumerate(list_at(limit_range, "spec", "limits")):
        for amounts in AMOUNTS:
            yield from _classes(f"spec.limits[{index}].{amounts}", dict_at(limit, amounts))
    for field_name, what in (
        ("defaultMachineType", _MACHINE_TYPE),
        ("defaultVolumeType", _VOLUME_TYPE),
    ):
        if name := text_at(limit_range, "spec", field_name):
            yield Named(f"spec.{field_name}", what, name)


def _classes(path: str, metrics: Iterable[str]) -> Iterator[Named]:
    """Of `pvc.<class>` the cluster's own StorageClasses decide, which nobody knows here."""
    for metric in metrics:
        canonical = canonical_metric(metric) or ""
        if canonical.startswith(_STORAGE):
            yield Named(f"{path}[{metric}]", _CLASS, canonical.removeprefix(_STORAGE))


_READERS: Final = {QUOTA.plural: _in_quota, SHOOT_LIMIT_RANGE.plural: _in_range}
