"""ShootLimitRange: the rules of LimitRange, in its words."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import SHOOT_LIMIT_RANGE
from apis.meta.transaction import NO_HEADER, Object
from tests.builders import an_object
from tests.settled import faults


def limits(*items: Any, **spec: Any) -> Object:
    found = {"limits": [{"type": "Worker"} | item for item in items], **spec}
    return an_object("ShootLimitRange", name="r", namespace="dev", spec=found)


def test_a_full_range_is_accepted() -> None:
    worker = {
        "min": {"cpu": "1", "machines": "1"},
        "defaultRequest": {"cpu": "2"},
        "default": {"cpu": "4"},
        "max": {"cpu": "8", "storage.premium": "100Gi"},
        "maxLimitRequestRatio": {"cpu": "4", "machines": "1.5"},
    }
    shoot = {"type": "Shoot", "max": {"loadbalancer": "2", "gpu": "0", "memory": "1Ti"}}
    machine = {"type": "Machine", "max": {"cpu": "8"}}

    assert faults(limits(worker, shoot, machine, defaultMachineType="small")) == []


@pytest.mark.parametrize(
    ("limit", "fault"),
    [
        (
            {"min": {"cpu": "2"}, "max": {"cpu": "1"}},
            'min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            {"min": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}},
            'defaultRequest[cpu]: Invalid value: "1": '
            "min value 2 is greater than default request value 1",
        ),
        (
            {"defaultRequest": {"cpu": "2"}, "max": {"cpu": "1500m"}},
            'defaultRequest[cpu]: Invalid value: "2": '
            "default request value 2 is greater than max value 1500m",
        ),
        (
            {"defaultRequest": {"cpu": "2"}, "default": {"cpu": "1"}},
            'defaultRequest[cpu]: Invalid value: "2": '
            "default request value 2 is greater than default limit value 1",
        ),
        (
            {"min": {"cpu": "2"}, "default": {"cpu": "1"}},
            'default[cpu]: Invalid value: "1": min value 2 is greater than default value 1',
        ),
        (
            {"default": {"cpu": "2"}, "max": {"cpu": "1"}},
            'default[cpu]: Invalid value: "2": default value 2 is greater than max value 1',
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "999m"}},
            'maxLimitRequestRatio[cpu]: Invalid value: "999m": ratio 999m is less than 1',
        ),
        (
            {"min": {"cpu": "2"}, "max": {"cpu": "3"}, "maxLimitRequestRatio": {"cpu": "1501m"}},
            'maxLimitRequestRatio[cpu]: Invalid value: "1501m": '
            "ratio 1501m is greater than max/min = 3/2",
        ),
    ],
)
def test_amounts_are_in_order(limit: Object, fault: str) -> None:
    assert faults(limits(limit)) == [f"spec.limits[0].{fault}"]


def test_a_ratio_that_max_and_min_just_allow_is_accepted() -> None:
    limit = {"min": {"cpu": "2"}, "max": {"cpu": "3"}, "maxLimitRequestRatio": {"cpu": "1.5"}}

    assert faults(limits(limit)) == []


@pytest.mark.parametrize("metric", ["cpus", "shoots", "pvc.basic", "pods", "storage"])
def test_a_metric_that_is_not_limited_here_is_answered_with_those_that_are(metric: str) -> None:
    assert faults(limits({"max": {metric: "1"}})) == [
        f'spec.limits[0].max[{metric}]: Unsupported value: "{metric}": supported values: "cpu", '
        '"gpu", "loadbalancer", "machines", "memory", "storage.<class>"'
    ]


def test_a_whole_shoot_has_no_defaults() -> None:
    assert faults(limits({"type": "Shoot", "default": {"cpu": "1"}})) == [
        "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Shoot'"
    ]


def test_a_type_is_limited_once_and_is_known() -> None:
    assert faults(limits({}, {}, {"type": "Pod"})) == [
        'spec.limits[2].type: Unsupported value: "Pod": supported values: '
        '"Machine", "Shoot", "Worker"',
        'spec.limits[1]: Duplicate value: {"type":"Worker"}',
    ]


def test_a_row_shows_the_bounds() -> None:
    found = limits(
        {"type": "Shoot", "max": {"cpu": "40"}},
        {"min": {"machines": "1", "cpu": "1"}, "max": {"machines": "5"}},
        {"type": "Machine"},
    )

    assert SHOOT_LIMIT_RANGE.columns[0].cell(found, NO_HEADER) == (
        "Shoot: cpu <= 40; Worker: cpu >= 1, machines 1..5"
    )


def test_an_amount_that_is_no_quantity_is_named_once_and_compared_with_nothing() -> None:
    found = limits({"min": {"cpu": "many"}, "max": {"cpu": "1"}})

    [fault] = faults(found)

    assert fault.startswith('spec.limits[0].min[cpu]: Invalid value: "many": quantities must ')
    assert SHOOT_LIMIT_RANGE.rules(limits({"min": {"cpu": []}}), None) == []
