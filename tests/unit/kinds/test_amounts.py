"""Which amounts are refused, which are doubted, and how people are shown them."""

from typing import Any

import pytest

from apis.garden.v1beta1.amounts import readable, shown_amount
from apis.garden.v1beta1.common import amounts_text, usage_text
from apis.garden.v1beta1.register import BY_KIND, SHOOT_LIMIT_RANGE
from apis.meta.quantity import nanos_of
from apis.meta.transaction import NO_HEADER, Object
from tests.builders import a_quota, an_object
from tests.settled import faults, settle


@pytest.mark.parametrize(
    ("metric", "text", "expected"),
    [
        ("machines", "3k", "3000"),
        ("shoots", "999k", "999000"),
        ("shoots", "1e3", "1000"),
        ("gpus", "0", "0"),
        ("cpu", "1M", "1M"),
        ("cpu", "1500k", "1500k"),
        ("cpu", "1500m", "1500m"),
        ("cpu", "18", "18"),
        ("memory", "12992276070400m", "12.1Gi"),
        ("memory", "38976828211200m", "36.3Gi"),
        ("storage.fast", "7500000000", "~6.984Gi"),
        ("memory", "12992276070401m", "~12.1Gi"),
        ("pvc.slow", "1099511627777", "~1Ti"),
        ("memory", "72Gi", "72Gi"),
        ("memory", "12100M", "12100M"),
        ("memory", "512", "512"),
        ("memory", "1500m", "1500m"),
        ("memory", "0", "0"),
        ("memory", "lots", "lots"),
        ("cpu", "lots", "lots"),
        ("unknown", "2k", "2000"),
    ],
)
def test_an_amount_is_shown_as_people_read_it(metric: str, text: str, expected: str) -> None:
    assert readable(metric, text) == expected


def test_what_is_shown_without_a_tilde_is_exact() -> None:
    for sixteenths in range(16, 4000):
        text = shown_amount("memory", sixteenths * 2**30 * 10**9 // 16)

        assert text.startswith("~") or nanos_of(text) == sixteenths * 2**30 * 10**9 // 16


def test_columns_show_readable_amounts() -> None:
    used = {"machines": "1k", "memory": "12992276070400m"}

    assert usage_text(used, {"machines": "3k", "memory": "20Gi", "shoots": "2k"}) == (
        "machines: 1000/3000, memory: 12.1Gi/20Gi, shoots: 0/2000"
    )
    assert usage_text(None, {"machines": "3k"}) == "machines: -/3000"
    assert amounts_text(used) == "machines: 1000, memory: 12.1Gi"


def test_a_limit_ranges_column_too() -> None:
    limits = [{"type": "Shoot", "min": {"memory": "1.1Gi"}, "max": {"cpu": "2k", "memory": "2Gi"}}]
    settled = settle(an_object("ShootLimitRange", name="a", spec={"limits": limits}))

    cell = SHOOT_LIMIT_RANGE.columns[0].cell(settled, NO_HEADER)

    assert cell == "Shoot: cpu <= 2000, memory 1.1Gi..2Gi"


def quota(**metrics: Any) -> Object:
    return a_quota() | {"spec": {"scope": "secret", "metrics": metrics}}


def profile(machine: Object, provider: str = "aws") -> Object:
    item = {"name": "m", "cpu": "2", "memory": "8Gi", **machine}
    constraints = {"machineTypes": [item]}
    return an_object("CloudProfile", name="p", spec={provider: {"constraints": constraints}})


def limit_range(**limit: Any) -> Object:
    return an_object("ShootLimitRange", name="a", spec={"limits": [{"type": "Worker", **limit}]})


def warnings(new: Object, old: Object | None = None) -> list[str]:
    assert faults(new, old) == []
    before = None if old is None else settle(old)
    return BY_KIND[new["kind"]].warnings(settle(new), before)


@pytest.mark.parametrize(
    "metric", ["shoots", "machines", "loadbalancer", "loadbalancers", "gpu", "gpus"]
)
def test_what_is_counted_has_no_fractions(metric: str) -> None:
    assert faults(quota(**{metric: 1.5})) == [
        f'spec.metrics[{metric}]: Invalid value: "1500m": must be an integer'
    ]
    assert faults(quota(**{metric: "1e3"})) == []


@pytest.mark.parametrize("metric", ["memory", "storage.x", "disk.x", "pvc.x"])
def test_a_size_is_no_fraction_of_a_byte(metric: str) -> None:
    assert faults(quota(**{metric: "200m"})) == [
        f'spec.metrics[{metric}]: Invalid value: "200m": must be 0 or at least one byte: '
        "m is the suffix of thousandths"
    ]


@pytest.mark.parametrize(
    "metrics",
    [{"cpu": "1500m"}, {"memory": "12.1Gi"}, {"memory": "0", "shoots": "0"}, {"memory": "1Mi"}],
)
def test_amounts_that_can_be_meant_pass_in_silence(metrics: dict[str, str]) -> None:
    assert warnings(quota(**metrics)) == []


@pytest.mark.parametrize("amount", ["64", "1500m", "1023Ki"])
def test_a_size_without_its_suffix_is_doubted(amount: str) -> None:
    assert warnings(quota(memory=amount)) == [
        f"spec.metrics[memory]: {amount} is less than 1Mi: is a suffix such as Gi missing?"
    ]


def test_what_is_stored_neither_bars_nor_doubts_other_changes() -> None:
    old = quota(shoots="1500m", memory="200m", **{"disk.x": "64"})
    new = quota(shoots="1500m", memory="200m", cpu="1", **{"disk.x": "64"})

    assert faults(new, old) == []
    assert warnings(new, old) == []
    assert len(faults(quota(shoots="2500m", memory="300m"), old)) == 2


@pytest.mark.parametrize(
    ("more", "rest"),
    [
        ({}, "by nothing"),
        ({"clusterLifetimeDays": 3}, "only by clusterLifetimeDays"),
        (
            {"clusterLifetimeDays": 3, "machineTypes": ["m"]},
            "only by clusterLifetimeDays and machineTypes",
        ),
    ],
)
def test_a_quota_without_metrics_is_doubted(more: dict[str, Any], rest: str) -> None:
    new = quota()
    new["spec"] |= more

    assert warnings(new) == [f"spec.metrics: is empty: clusters are limited {rest}"]
    assert warnings(new, quota(cpu="1")) == warnings(new)
    assert warnings(new, quota()) == []


def test_a_metric_that_is_no_longer_limited_is_told_by_whatever_name() -> None:
    old = quota(cpu="1", gpus="0")

    assert warnings(quota(gpu="0"), old) == [
        "spec.metrics[cpu]: is taken out: clusters may have any amount of it"
    ]


def test_a_limit_range_that_says_nothing_is_doubted() -> None:
    told = ["spec: bounds and fills in nothing"]

    assert warnings(limit_range(max={})) == told
    assert warnings(an_object("ShootLimitRange", name="a", spec={})) == told
    assert warnings(limit_range(max={"machines": "1"})) == []
    assert warnings(an_object("ShootLimitRange", name="a", spec={"defaultMachineType": "m"})) == []


def test_a_machine_type_has_sizes_that_can_be_meant() -> None:
    path = "spec.aws.constraints.machineTypes[0].memory"

    [fault] = faults(profile({"memory": "200m"}))
    assert fault.startswith(f'{path}: Invalid value: "200m": must be 0 or at least one byte')
    assert warnings(profile({"memory": "8"})) == [
        f"{path}: 8 is less than 1Mi: is a suffix such as Gi missing?"
    ]
    assert warnings(profile({"memory": "8"}), profile({"memory": "8"})) == []
    assert warnings(profile({"memory": "8", "x": 1}), profile({"memory": "8"})) == []
    assert faults(profile({"memory": "200m"}), profile({"memory": "200m", "x": 1})) == []
    assert warnings(profile({"cpu": "500m", "gpu": "0.125", "memory": "0"})) == []


def test_a_machine_types_own_volume_too() -> None:
    own = {"volumeType": "fast", "volumeSize": "20"}

    [warning] = warnings(profile(own, "openstack"))

    assert warning.startswith("spec.openstack.constraints.machineTypes[0].volumeSize: 20 is less")


def test_limits_of_shoots_are_held_to_the_same() -> None:
    assert faults(limit_range(max={"machines": "1.5"})) == [
        'spec.limits[0].max[machines]: Invalid value: "1500m": must be an integer'
    ]
    assert faults(limit_range(maxLimitRequestRatio={"machines": "1.5"})) == []
    assert warnings(limit_range(max={"memory": "64"})) == [
        "spec.limits[0].max[memory]: 64 is less than 1Mi: is a suffix such as Gi missing?"
    ]
    old = limit_range(max={"machines": "1500m", "memory": "64"})
    assert warnings(limit_range(max={"machines": "1500m", "memory": "64", "cpu": "1"}), old) == []
