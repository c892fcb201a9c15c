"""What ShootLimitRanges fill in, and in which order."""

from collections.abc import Mapping

import pytest

from admission.metering.range_defaults import fill_in
from admission.metering.ranges import Range, parse_range
from apis.meta.transaction import Object
from tests.admission_examples import a_range, a_shoot, a_worker


def ranges(*objects: Object) -> list[Range]:
    return [parse_range(obj) for obj in objects]


def class_of(provider: str, volume_type: str) -> str | None:
    return {("aws", "gp2"): "standard", ("aws", "io1"): "premium"}.get((provider, volume_type))


def filled(worker: Object, *objects: Object, provider: str = "aws") -> Object:
    shoot = a_shoot(worker, provider=provider)
    fill_in(shoot, ranges(*objects), class_of)
    result: Object = shoot["spec"]["cloud"][provider]["workers"][0]
    return result


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


def workers_limit(**amounts: str) -> Object:
    """A range's limit of workers' machines, by the names of its fields."""
    return {"type": "Worker", **{name: {"machines": text} for name, text in amounts.items()}}


def machines(
    *limits: Object, least: int | None = None, most: int | None = None
) -> tuple[int | None, int | None]:
    """(autoScalerMin, autoScalerMax) of a worker that has those given, in ranges a, b, ..."""
    named = [a_range(name, limit) for name, limit in zip("abc", limits, strict=False)]
    worker = filled(a_worker(autoScalerMin=least, autoScalerMax=most), *named)
    return worker.get("autoScalerMin"), worker.get("autoScalerMax")


@pytest.mark.parametrize(
    ("amounts", "filled_in"),
    [
        ({"default": "4", "defaultRequest": "2", "min": "1", "max": "9"}, (2, 4)),
        ({"default": "4", "min": "1", "max": "9"}, (4, 4)),
        ({"defaultRequest": "2", "min": "1", "max": "9"}, (2, 9)),
        ({"min": "1", "max": "9"}, (9, 9)),
        ({"max": "9"}, (9, 9)),
        ({"min": "1"}, (1, None)),
        ({"defaultRequest": "2"}, (2, None)),
        ({"maxLimitRequestRatio": "2"}, (None, None)),
    ],
)
def test_the_cascade_is_limit_ranges(
    amounts: Mapping[str, str], filled_in: tuple[int | None, int | None]
) -> None:
    assert machines(workers_limit(**amounts)) == filled_in


def test_a_limit_alone_becomes_the_request() -> None:
    assert machines(workers_limit(default="4", defaultRequest="2", max="9"), most=7) == (7, 7)
    assert machines(workers_limit(min="1"), most=7) == (7, 7)


def test_a_request_alone_leaves_the_limit_to_the_default() -> None:
    assert machines(workers_limit(default="4", defaultRequest="2"), least=1) == (1, 4)
    assert machines(workers_limit(max="9"), least=3) == (3, 9)


def test_without_a_word_on_machines_a_limit_stays_alone() -> None:
    assert machines({"type": "Worker", "max": {"cpu": "9"}}, most=7) == (None, 7)
    assert machines({"type": "Shoot", "max": {"machines": "9"}}, most=7) == (None, 7)


def test_a_default_of_any_range_comes_before_a_bound_of_any_other() -> None:
    assert machines(workers_limit(max="9"), workers_limit(default="4")) == (4, 4)


def test_of_several_bounds_the_tightest_stands_in() -> None:
    assert machines(workers_limit(max="9"), workers_limit(max="5")) == (5, 5)
    assert machines(workers_limit(min="2"), workers_limit(min="3")) == (3, None)


@pytest.mark.parametrize("amount", ["1500m", "3G"])
def test_a_bound_that_no_worker_can_have_is_no_default(amount: str) -> None:
    assert machines(workers_limit(max=amount)) == (None, None)


@pytest.mark.parametrize(
    ("amounts", "size"),
    [
        ({"default": "4Gi", "defaultRequest": "2Gi", "min": "1Gi", "max": "9Gi"}, "4Gi"),
        ({"defaultRequest": "2Gi", "min": "1Gi", "max": "9Gi"}, "2Gi"),
        ({"min": "1Gi", "max": "9Gi"}, "9Gi"),
        ({"min": "1Gi"}, "1Gi"),
        ({"max": "1500Mi"}, None),
        ({"max": "0"}, None),
    ],
)
def test_the_size_of_a_volume_is_request_and_limit_at_once(
    amounts: Mapping[str, str], size: str | None
) -> None:
    limit = {name: {"storage.standard": text} for name, text in amounts.items()}
    worker = filled(a_worker(volumeSize=None), a_range("r", {"type": "Machine", **limit}))
    assert worker.get("volumeSize") == size


def test_what_was_filled_in_is_told_with_the_range_it_came_from() -> None:
    shoot = a_shoot(a_worker(), a_worker("bare", machineType=None, autoScalerMax=None))
    found = ranges(
        a_range("b", workers_limit(default="4"), defaultMachineType="of-b"),
        a_range("a", workers_limit(max="3")),
    )
    assert fill_in(shoot, found, class_of) == {
        "spec.cloud.aws.workers[1].machineType": "garden-dev/b",
        "spec.cloud.aws.workers[1].autoScalerMax": "garden-dev/b",
    }


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
