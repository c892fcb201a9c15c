"""Who names what no profile offers is told so, and not kept from it."""

from collections.abc import Sequence
from typing import Any

from admission.plugins.offers import MAX_TOLD, UnofferedNames
from apis.garden.v1beta1.register import BY_KIND
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Object, Record, encode_body
from tests.builders import a_profile, a_quota, a_shoot, an_object


class Profiles:
    """`cached` is what a cache that lags still has; None where it does not lag."""

    def __init__(self, *profiles: Object, cached: Sequence[Object] | None = None) -> None:
        self._newest = profiles
        self._cached = profiles if cached is None else cached
        self.asked: list[bool] = []

    async def profiles(self, *, newest: bool) -> Sequence[Record]:
        self.asked.append(newest)
        found = self._newest if newest else self._cached
        return [Record(f"p/{n}", 1, 0, encode_body(obj)) for n, obj in enumerate(found)]


OPENSTACK = an_object(
    "CloudProfile",
    name="openstack",
    spec={
        "openstack": {
            "constraints": {
                "machineTypes": [
                    {
                        "name": "medium",
                        "cpu": "2",
                        "memory": "4Gi",
                        "volumeType": "ceph",
                        "volumeSize": "20Gi",
                    }
                ]
            }
        }
    },
)


async def warnings(
    profiles: Profiles, obj: Object, old: Object | None = None, subresource: str = ""
) -> list[str]:
    resource = BY_KIND[obj["kind"]]
    operation = Operation.CREATE if old is None else Operation.UPDATE
    attributes = Attributes(
        operation, resource, "ns", "a", UserInfo("alice"), obj, old, subresource=subresource
    )
    await UnofferedNames(profiles).validate(attributes)
    return attributes.warnings


def quota(*machine_types: str, **metrics: str) -> Object:
    obj = a_quota() | {"spec": {"scope": "secret", "metrics": metrics}}
    if machine_types:
        obj["spec"]["machineTypes"] = list(machine_types)
    return obj


async def test_a_class_that_no_profile_has_is_told_with_those_that_there_are() -> None:
    profiles = Profiles(a_profile(), OPENSTACK)

    found = await warnings(profiles, quota(**{"storage.standrad": "1Ti", "disk.nope": "1Ti"}))

    assert found == [
        'spec.metrics[storage.standrad]: no CloudProfile has the volume class "standrad" yet, '
        "and until then it has no effect (known: ceph, premium, standard)",
        'spec.metrics[disk.nope]: no CloudProfile has the volume class "nope" yet, '
        "and until then it has no effect (known: ceph, premium, standard)",
    ]


async def test_what_profiles_have_passes_in_silence_and_asks_the_cache_alone() -> None:
    profiles = Profiles(a_profile(), OPENSTACK)
    metrics = {"storage.standard": "1Ti", "disk.ceph": "1Ti", "pvc.any": "1Ti", "cpu": "1"}

    assert await warnings(profiles, quota("small", "medium", **metrics)) == []
    assert profiles.asked == [False]


async def test_a_quota_that_comes_before_every_profile_is_told() -> None:
    [warning] = await warnings(Profiles(), quota(**{"storage.standard": "1Ti"}))

    assert warning.endswith("yet, and until then it has no effect")


async def test_a_profile_that_the_cache_does_not_have_yet_counts() -> None:
    profiles = Profiles(a_profile(), cached=[])

    assert await warnings(profiles, quota(**{"storage.standard": "1Ti"})) == []
    assert profiles.asked == [False, True]


async def test_machine_types_of_a_quota_too() -> None:
    [warning] = await warnings(Profiles(a_profile()), quota("small", "smal"))

    assert warning.startswith('spec.machineTypes[1]: no CloudProfile has the machine type "smal"')


async def test_limit_ranges_too() -> None:
    spec: dict[str, Any] = {
        "limits": [{"type": "Worker", "max": {"storage.nope": "1Gi", "storage.premium": "1Gi"}}],
        "defaultMachineType": "hug",
        "defaultVolumeType": "gp3",
    }

    found = await warnings(Profiles(a_profile()), an_object("ShootLimitRange", name="a", spec=spec))

    assert [text.partition(":")[0] for text in found] == [
        "spec.limits[0].max[storage.nope]",
        "spec.defaultMachineType",
        "spec.defaultVolumeType",
    ]
    spec |= {"limits": [], "defaultMachineType": "large", "defaultVolumeType": "premium"}
    fine = an_object("ShootLimitRange", name="a", spec=spec)
    assert await warnings(Profiles(a_profile()), fine) == []


async def test_names_that_were_there_before_are_not_told_again() -> None:
    profiles = Profiles(a_profile())
    old = quota(**{"storage.nope": "1Ti"})

    assert await warnings(profiles, quota(**{"disk.nope": "2Ti", "cpu": "1"}), old) == []
    assert len(await warnings(profiles, quota(**{"storage.other": "2Ti"}), old)) == 1
    assert profiles.asked == [False, True]


async def test_other_kinds_and_the_status_cost_nothing() -> None:
    profiles = Profiles()

    assert await warnings(profiles, a_shoot()) == []
    assert await warnings(profiles, quota(**{"storage.x": "1"}), quota(), "status") == []
    assert profiles.asked == []


async def test_so_many_are_told_and_no_more() -> None:
    many = {f"storage.c{n}": "1Ti" for n in range(50)}

    assert len(await warnings(Profiles(), quota(**many))) == MAX_TOLD
