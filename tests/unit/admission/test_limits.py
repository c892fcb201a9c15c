from collections.abc import Mapping

import pytest

from admission.metering.charges import Usage, UsageByType
from admission.metering.limits import fill_in, same_bounds, violations
from admission.metering.ranges import Range, parse_range
from apis.meta.quantity import nanos_of
from apis.meta.transaction import Object
from tests.admission_examples import a_range, a_shoot, a_worker

NOTHING = Usage({}, {})


def a_usage(requests: Mapping[str, str], limits: Mapping[str, str]) -> Usage:
    return Usage(
        {metric: nanos_of(text) for metric, text in requests.items()},
        {metric: nanos_of(text) for metric, text in limits.items()},
    )


def of_workers(*workers: Usage) -> UsageByType:
    return UsageByType(NOTHING, workers, ())


def ranges(*objects: Object) -> list[Range]:
    return [parse_range(obj) for obj in objects]


def class_of(provider: str, volume_type: str) -> str | None:
    return {("aws", "gp2"): "standard", ("aws", "io1"): "premium"}.get((provider, volume_type))


def filled(worker: Object, *objects: Object, provider: str = "aws") -> Object:
    shoot = a_shoot(worker, provider=provider)
    fill_in(shoot, ranges(*objects), class_of)
    result: Object = shoot["spec"]["cloud"][provider]["workers"][0]
    return result


# Limits


def test_a_limit_above_the_maximum_is_told_in_kubernetes_words() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "max": {"cpu": "16"}}))
    usage = of_workers(a_usage({"cpu": "8"}, {"cpu": "32"}))
    assert violations(limits, usage) == ["maximum cpu usage per Worker is 16, but limit is 32"]


def test_a_request_below_the_minimum_is_told_in_kubernetes_words() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "min": {"cpu": "2"}}))
    usage = of_workers(a_usage({"cpu": "1"}, {"cpu": "32"}))
    assert violations(limits, usage) == ["minimum cpu usage per Worker is 2, but request is 1"]


def test_a_ratio_that_is_exceeded_is_told_in_kubernetes_words() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "maxLimitRequestRatio": {"cpu": "1500m"}}))
    usage = of_workers(a_usage({"cpu": "2"}, {"cpu": "4"}))
    assert violations(limits, usage) == [
        "cpu max limit to request ratio per Worker is 1.5, but provided ratio is 2"
    ]


def test_quantities_in_messages_are_canonical() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "max": {"memory": "1024Mi"}}))
    usage = of_workers(a_usage({"memory": "1Gi"}, {"memory": "2048Mi"}))
    assert violations(limits, usage) == ["maximum memory usage per Worker is 1Gi, but limit is 2Gi"]


def test_bounds_themselves_are_allowed() -> None:
    limit = {
        "type": "Worker",
        "min": {"cpu": "2"},
        "max": {"cpu": "3"},
        "maxLimitRequestRatio": {"cpu": "1.5"},
    }
    usage = of_workers(a_usage({"cpu": "2"}, {"cpu": "3"}))
    assert violations(ranges(a_range("r", limit)), usage) == []


def test_a_ratio_is_not_rounded() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "maxLimitRequestRatio": {"cpu": "1.5"}}))
    above = of_workers(a_usage({"cpu": "2"}, {"cpu": "3000000001n"}))
    assert violations(limits, above) == [
        "cpu max limit to request ratio per Worker is 1.5, but provided ratio is 1.500001"
    ]


def test_no_request_has_no_ratio_that_a_limit_could_keep() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "maxLimitRequestRatio": {"cpu": "2"}}))
    assert violations(limits, of_workers(a_usage({"cpu": "0"}, {"cpu": "4"}))) == [
        "cpu max limit to request ratio per Worker is 2, but no request is specified or request is 0"
    ]
    assert violations(limits, of_workers(a_usage({"cpu": "0"}, {"cpu": "0"}))) == []


def test_a_class_that_is_not_used_is_not_bounded() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "min": {"storage.premium": "10Gi"}}))
    usage = of_workers(a_usage({"storage.standard": "1Gi"}, {"storage.standard": "1Gi"}))
    assert violations(limits, usage) == []


def test_each_type_bounds_its_own_subject() -> None:
    usage = UsageByType(
        a_usage({"cpu": "1"}, {"cpu": "30"}),
        (a_usage({"cpu": "1"}, {"cpu": "20"}),),
        (a_usage({"cpu": "1"}, {"cpu": "10"}),),
    )
    of_type = {
        kind: violations(ranges(a_range("r", {"type": kind, "max": {"cpu": "5"}})), usage)
        for kind in ("Shoot", "Worker", "Machine")
    }
    assert of_type == {
        "Shoot": ["maximum cpu usage per Shoot is 5, but limit is 30"],
        "Worker": ["maximum cpu usage per Worker is 5, but limit is 20"],
        "Machine": ["maximum cpu usage per Machine is 5, but limit is 10"],
    }


def test_all_violations_of_all_ranges_are_reported_once_each() -> None:
    first = a_range("a", {"type": "Worker", "max": {"memory": "1Gi", "cpu": "1"}})
    second = a_range("b", {"type": "Worker", "max": {"cpu": "1"}, "min": {"cpu": "9"}})
    worker = a_usage({"cpu": "2", "memory": "2Gi"}, {"cpu": "2", "memory": "2Gi"})
    assert violations(ranges(second, first), of_workers(worker, worker)) == [
        "maximum cpu usage per Worker is 1, but limit is 2",
        "maximum memory usage per Worker is 1Gi, but limit is 2Gi",
        "minimum cpu usage per Worker is 9, but request is 2",
    ]


# What is judged again


def test_what_ranges_judge_is_the_same_when_pools_are_renamed_and_reordered() -> None:
    a, b = a_worker("a"), a_worker("b", machineType="p2.xlarge")
    assert same_bounds(a_shoot({**b, "name": "x"}, a), a_shoot(a, b))


@pytest.mark.parametrize(
    "change", [{"autoScalerMin": 0}, {"autoScalerMax": 9}, {"volumeType": "x"}]
)
def test_what_ranges_judge_differs_by_minimum_too(change: Object) -> None:
    assert not same_bounds(a_shoot(a_worker(**change)), a_shoot(a_worker()))


# Defaults


def test_missing_types_are_filled_in() -> None:
    worker = a_worker(machineType=None, volumeType=None)
    result = filled(worker, a_range("r", defaultMachineType="m4.large", defaultVolumeType="gp2"))
    assert (result["machineType"], result["volumeType"]) == ("m4.large", "gp2")


def test_what_was_given_is_kept_field_by_field() -> None:
    worker = a_worker(machineType="p2.xlarge", volumeType=None)
    result = filled(worker, a_range("r", defaultMachineType="m4.large", defaultVolumeType="io1"))
    assert (result["machineType"], result["volumeType"]) == ("p2.xlarge", "io1")


def test_zero_machines_are_given() -> None:
    limit = {"type": "Worker", "defaultRequest": {"machines": "3"}}
    assert filled(a_worker(autoScalerMin=0), a_range("r", limit))["autoScalerMin"] == 0


def test_machines_of_a_worker_default_to_the_scaler_s_bounds() -> None:
    limit = {"type": "Worker", "default": {"machines": "4"}, "defaultRequest": {"machines": "2"}}
    result = filled(a_worker(autoScalerMin=None, autoScalerMax=None), a_range("r", limit))
    assert (result["autoScalerMin"], result["autoScalerMax"]) == (2, 4)


def test_a_fraction_of_a_machine_is_no_default() -> None:
    limit = {"type": "Worker", "default": {"machines": "1500m"}}
    assert "autoScalerMax" not in filled(a_worker(autoScalerMax=None), a_range("r", limit))


def test_storage_of_a_machine_defaults_to_the_size_of_its_class_s_volume() -> None:
    limit = {"type": "Machine", "default": {"storage.standard": "1Ti", "storage.premium": "5Gi"}}
    assert filled(a_worker(volumeSize=None), a_range("r", limit))["volumeSize"] == "1024Gi"


def test_the_class_of_a_default_volume_type_decides_the_default_size() -> None:
    limit = {"type": "Machine", "defaultRequest": {"storage.premium": "5Gi"}}
    worker = a_worker(volumeType=None, volumeSize=None)
    result = filled(worker, a_range("r", limit, defaultVolumeType="io1"))
    assert (result["volumeType"], result["volumeSize"]) == ("io1", "5Gi")


def test_the_first_range_by_name_wins_field_by_field() -> None:
    worker = a_worker(machineType=None, volumeType=None)
    result = filled(
        worker,
        a_range("b", defaultMachineType="of-b", defaultVolumeType="of-b"),
        a_range("a", defaultMachineType="of-a"),
    )
    assert (result["machineType"], result["volumeType"]) == ("of-a", "of-b")


def test_an_openstack_worker_gets_no_volume() -> None:
    limit = {"type": "Machine", "default": {"storage.standard": "5Gi"}}
    bare = {"name": "w"}
    spec = {"defaultMachineType": "medium_2_4", "defaultVolumeType": "gp2"}
    result = filled(bare, a_range("r", limit, **spec), provider="openstack")
    assert result == {"name": "w", "machineType": "medium_2_4"}


def test_a_local_worker_gets_no_types() -> None:
    spec = {"defaultMachineType": "m4.large", "defaultVolumeType": "gp2"}
    assert filled({"name": "w"}, a_range("r", **spec), provider="local") == {"name": "w"}


@pytest.mark.parametrize(
    "spec",
    [None, [], {}, {"cloud": 1}, {"cloud": {"aws": []}}, {"cloud": {"aws": {"workers": {"a": 1}}}},
     {"cloud": {"aws": {"workers": ["x", None]}}}],
)  # fmt: skip
def test_what_has_another_shape_is_left_alone(spec: object) -> None:
    shoot = {**a_shoot(), "spec": spec}
    fill_in(shoot, ranges(a_range("r", defaultMachineType="m")), class_of)
    assert shoot["spec"] == spec
