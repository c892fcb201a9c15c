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
        "defaultRequest": {"machines": "1"},
        "default": {"machines": "3"},
        "max": {"cpu": "8", "storage.premium": "100Gi"},
        "maxLimitRequestRatio": {"cpu": "4", "machines": "1.5"},
    }
    shoot = {"type": "Shoot", "max": {"loadbalancer": "2", "gpu": "0", "memory": "1Ti"}}
    machine = {"type": "Machine", "max": {"cpu": "8"}, "default": {"storage.premium": "1Ti"}}

    assert faults(limits(worker, shoot, machine, defaultMachineType="small")) == []


@pytest.mark.parametrize(
    ("limit", "fault"),
    [
        (
            {"min": {"cpu": "2"}, "max": {"cpu": "1"}},
            'min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            {"min": {"machines": "2"}, "defaultRequest": {"machines": "1"}},
            'defaultRequest[machines]: Invalid value: "1": '
            "min value 2 is greater than default request value 1",
        ),
        (
            {"defaultRequest": {"machines": "2"}, "max": {"machines": "1"}},
            'defaultRequest[machines]: Invalid value: "2": '
            "default request value 2 is greater than max value 1",
        ),
        (
            {"defaultRequest": {"machines": "2"}, "default": {"machines": "1"}},
            'defaultRequest[machines]: Invalid value: "2": '
            "default request value 2 is greater than default limit value 1",
        ),
        (
            {"min": {"machines": "2"}, "default": {"machines": "1"}},
            'default[machines]: Invalid value: "1": min value 2 is greater than default value 1',
        ),
        (
            {"default": {"machines": "2"}, "max": {"machines": "1"}},
            'default[machines]: Invalid value: "2": default value 2 is greater than max value 1',
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


@pytest.mark.parametrize("name", ["default", "defaultRequest"])
@pytest.mark.parametrize(
    ("limited", "metric", "only"),
    [
        ("Worker", "cpu", "machines"),
        ("Worker", "storage.premium", "machines"),
        ("Machine", "machines", "storage.<class>"),
        ("Machine", "memory", "storage.<class>"),
    ],
)
def test_a_default_that_no_field_of_a_worker_could_hold_is_forbidden(
    name: str, limited: str, metric: str, only: str
) -> None:
    assert faults(limits({"type": limited, name: {metric: "1Gi"}})) == [
        f"spec.limits[0].{name}[{metric}]: Forbidden: "
        f"no field of a worker holds it; a {limited} has a default of {only} only"
    ]


@pytest.mark.parametrize(
    ("limited", "metric", "amount", "detail"),
    [
        ("Worker", "machines", "1500m", "must be a whole number of machines, 2147483647 at most"),
        ("Worker", "machines", "3G", "must be a whole number of machines, 2147483647 at most"),
        (
            "Machine",
            "storage.a",
            "1500Mi",
            "must be a whole number of Gi, 1Gi at least, as volumeSize is",
        ),
        (
            "Machine",
            "storage.a",
            "0",
            "must be a whole number of Gi, 1Gi at least, as volumeSize is",
        ),
    ],
)
def test_a_default_is_a_value_that_the_field_can_have(
    limited: str, metric: str, amount: str, detail: str
) -> None:
    assert faults(limits({"type": limited, "default": {metric: amount}})) == [
        f'spec.limits[0].default[{metric}]: Invalid value: "{amount}": {detail}'
    ]


def test_a_stored_default_stays_as_it_is_and_does_not_change() -> None:
    old = limits({"default": {"cpu": "1"}})

    assert faults(limits({"default": {"cpu": "1"}, "max": {"cpu": "2"}}), old) == []
    assert len(faults(limits({"default": {"cpu": "2"}}), old)) == 1
    assert len(faults(limits({"default": {"cpu": "1", "gpu": "1"}}), old)) == 1


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
