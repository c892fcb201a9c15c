"""CloudProfile: prices are checked, everything else is kept."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import CLOUD_PROFILE
from apis.meta.transaction import NO_HEADER
from tests.builders import a_profile, an_object
from tests.settled import faults, settle


def profile_with(provider: str = "aws", **constraints: Any) -> dict[str, Any]:
    return an_object("CloudProfile", name="p", spec={provider: {"constraints": constraints}})


MACHINE = {"name": "m", "cpu": "2", "gpu": "0", "memory": "8Gi"}


def test_an_empty_profile_is_accepted() -> None:
    assert faults(an_object("CloudProfile", name="p", spec={})) == []


@pytest.mark.parametrize("field", ["name", "cpu", "memory"])
def test_a_machine_type_has_a_price(field: str) -> None:
    machine = {k: v for k, v in MACHINE.items() if k != field}

    assert faults(profile_with(machineTypes=[machine])) == [
        f"spec.aws.constraints.machineTypes[0].{field}: Required value"
    ]


def test_a_price_whose_sums_could_not_be_read_again_is_refused() -> None:
    machine = MACHINE | {"cpu": "1e101"}

    assert faults(profile_with(machineTypes=[machine])) == [
        'spec.aws.constraints.machineTypes[0].cpu: Invalid value: "100e99": '
        "must be less than or equal to 1e100"
    ]


def test_a_machine_type_has_no_gpu_unless_it_says_so() -> None:
    profile = settle(profile_with(machineTypes=[{"name": "m", "cpu": 2, "memory": "1024Mi"}]))

    assert profile["spec"]["aws"]["constraints"]["machineTypes"] == [
        {"name": "m", "cpu": "2", "gpu": "0", "memory": "1Gi"}
    ]


@pytest.mark.parametrize("provider", ["aws", "openstack"])
def test_types_are_listed_once(provider: str) -> None:
    own = {"volumeType": "default", "volumeSize": "20Gi"} if provider == "openstack" else {}
    profile = profile_with(
        provider,
        machineTypes=[MACHINE | own, MACHINE | own],
        volumeTypes=[{"name": "v", "class": "standard"}, {"name": "v", "class": "premium"}],
    )

    assert faults(profile) == [
        f'spec.{provider}.constraints.machineTypes[1]: Duplicate value: {{"name":"m"}}',
        f'spec.{provider}.constraints.volumeTypes[1]: Duplicate value: {{"name":"v"}}',
    ]


def test_an_openstack_machine_type_brings_its_volume() -> None:
    assert faults(profile_with("openstack", machineTypes=[MACHINE])) == [
        "spec.openstack.constraints.machineTypes[0].volumeType: Required value",
        "spec.openstack.constraints.machineTypes[0].volumeSize: Required value",
    ]


@pytest.mark.parametrize("volume_class", ["", "a b", "a/b", ".a"])
def test_a_class_that_no_metric_could_name_is_refused(volume_class: str) -> None:
    [fault] = faults(profile_with(volumeTypes=[{"name": "v", "class": volume_class}]))

    assert fault.startswith("spec.aws.constraints.volumeTypes[0].class: Invalid value: ")


def test_a_negative_price_is_refused() -> None:
    [fault] = faults(profile_with(machineTypes=[MACHINE | {"cpu": "-2"}]))

    assert fault.endswith(
        'machineTypes[0].cpu: Invalid value: "-2": must be greater than or equal to 0'
    )


def test_other_offers_are_kept_as_they_came() -> None:
    profile = profile_with(machineTypes=[MACHINE | {"zones": ["z"]}], regions=[{"x": None}])
    profile["spec"]["caBundle"] = "text"

    assert settle(profile) == profile


def test_a_row_shows_the_provider() -> None:
    assert CLOUD_PROFILE.columns[0].cell(a_profile(), NO_HEADER) == "aws"
