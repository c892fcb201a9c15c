from collections.abc import Mapping

import pytest

from admission.metering.charges import Usage, UsageByType
from admission.metering.demand import demand_of
from admission.metering.limits import same_bounds, same_workers, violations
from admission.metering.ranges import Range, contradictions, parse_range
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
    return UsageByType(NOTHING, workers, workers)


def ranges(*objects: Object) -> list[Range]:
    return [parse_range(obj) for obj in objects]


def told(limits: list[Range], usage: UsageByType) -> list[str]:
    return list(violations(limits, usage))


def grown(limit: Object, old: Usage, new: Usage) -> list[str]:
    """What a range says of one worker that is updated."""
    limits = ranges(a_range("r", {"type": "Worker", **limit}))
    return list(violations(limits, of_workers(new), of_workers(old), [0]))


# Limits


def test_a_limit_above_the_maximum_is_told_in_kubernetes_words() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "max": {"cpu": "16"}}))
    usage = of_workers(a_usage({"cpu": "8"}, {"cpu": "32"}))
    assert told(limits, usage) == ["maximum cpu usage per Worker is 16, but limit is 32"]


def test_a_request_below_the_minimum_is_told_in_kubernetes_words() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "min": {"cpu": "2"}}))
    usage = of_workers(a_usage({"cpu": "1"}, {"cpu": "32"}))
    assert told(limits, usage) == ["minimum cpu usage per Worker is 2, but request is 1"]


def test_a_ratio_that_is_exceeded_is_told_in_kubernetes_words() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "maxLimitRequestRatio": {"cpu": "1500m"}}))
    usage = of_workers(a_usage({"cpu": "2"}, {"cpu": "4"}))
    assert told(limits, usage) == [
        "cpu max limit to request ratio per Worker is 1.5, but provided ratio is 2"
    ]


def test_quantities_in_messages_are_canonical() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "max": {"memory": "1024Mi"}}))
    usage = of_workers(a_usage({"memory": "1Gi"}, {"memory": "2048Mi"}))
    assert told(limits, usage) == ["maximum memory usage per Worker is 1Gi, but limit is 2Gi"]


def test_bounds_themselves_are_allowed() -> None:
    limit = {
        "type": "Worker",
        "min": {"cpu": "2"},
        "max": {"cpu": "3"},
        "maxLimitRequestRatio": {"cpu": "1.5"},
    }
    usage = of_workers(a_usage({"cpu": "2"}, {"cpu": "3"}))
    assert told(ranges(a_range("r", limit)), usage) == []


def test_a_ratio_is_not_rounded() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "maxLimitRequestRatio": {"cpu": "1.5"}}))
    above = of_workers(a_usage({"cpu": "2"}, {"cpu": "3000000001n"}))
    assert told(limits, above) == [
        "cpu max limit to request ratio per Worker is 1.5, but provided ratio is 1.500001"
    ]


def test_no_request_has_no_ratio_that_a_limit_could_keep() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "maxLimitRequestRatio": {"cpu": "2"}}))
    assert told(limits, of_workers(a_usage({"cpu": "0"}, {"cpu": "4"}))) == [
        "cpu max limit to request ratio per Worker is 2, but no request is specified or request is 0"
    ]
    assert told(limits, of_workers(a_usage({"cpu": "0"}, {"cpu": "0"}))) == []


def test_a_class_that_is_not_used_is_not_bounded() -> None:
    limits = ranges(a_range("r", {"type": "Worker", "min": {"storage.premium": "10Gi"}}))
    usage = of_workers(a_usage({"storage.standard": "1Gi"}, {"storage.standard": "1Gi"}))
    assert told(limits, usage) == []


def test_each_type_bounds_its_own_subject() -> None:
    usage = UsageByType(
        a_usage({"cpu": "1"}, {"cpu": "30"}),
        (a_usage({"cpu": "1"}, {"cpu": "20"}),),
        (a_usage({"cpu": "1"}, {"cpu": "10"}),),
    )
    of_type = {
        kind: told(ranges(a_range("r", {"type": kind, "max": {"cpu": "5"}})), usage)
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
    assert told(ranges(second, first), of_workers(worker, worker)) == [
        "maximum cpu usage per Worker is 1, but limit is 2",
        "maximum memory usage per Worker is 1Gi, but limit is 2Gi",
        "minimum cpu usage per Worker is 9, but request is 2",
    ]


def test_a_violation_names_every_range_and_the_first_worker_that_it_is_about() -> None:
    limits = ranges(
        a_range("b", {"type": "Worker", "max": {"cpu": "1"}}),
        a_range("a", {"type": "Worker", "max": {"cpu": "1"}}),
        a_range("c", {"type": "Worker", "max": {"cpu": "2"}}),
    )
    small, large = (a_usage({"cpu": "1"}, {"cpu": cpu}) for cpu in ("1", "2"))
    [found] = violations(limits, of_workers(small, large, large)).values()
    assert (found.worker, found.ranges) == (1, ["garden-dev/a", "garden-dev/b"])


# What is judged again


def test_what_ranges_judge_is_the_same_when_pools_are_renamed_and_reordered() -> None:
    a, b = a_worker("a"), a_worker("b", machineType="p2.xlarge")
    assert same_bounds(a_shoot({**b, "name": "x"}, a), a_shoot(a, b))


@pytest.mark.parametrize(
    "change", [{"autoScalerMin": 0}, {"autoScalerMax": 9}, {"volumeType": "x"}]
)
def test_what_ranges_judge_differs_by_minimum_too(change: Object) -> None:
    assert not same_bounds(a_shoot(a_worker(**change)), a_shoot(a_worker()))


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [("32", "31", False), ("32", "32", False), ("32", "33", True), ("16", "17", True)],
)
def test_what_is_above_a_maximum_may_shrink_and_not_grow(old: str, new: str, refused: bool) -> None:
    before, after = a_usage({"cpu": "1"}, {"cpu": old}), a_usage({"cpu": "1"}, {"cpu": new})
    assert bool(grown({"max": {"cpu": "16"}}, before, after)) == refused


@pytest.mark.parametrize(("old", "new", "refused"), [("1", "2", False), ("2", "1", True)])
def test_what_is_below_a_minimum_may_grow_and_not_shrink(old: str, new: str, refused: bool) -> None:
    before, after = a_usage({"cpu": old}, {"cpu": "9"}), a_usage({"cpu": new}, {"cpu": "9"})
    assert bool(grown({"min": {"cpu": "4"}}, before, after)) == refused


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (("1", "8"), ("1", "7"), False),
        (("2", "16"), ("1", "8"), False),
        (("1", "8"), ("1", "9"), True),
        (("2", "16"), ("1", "9"), True),
        (("0", "8"), ("0", "8"), False),
        (("0", "8"), ("1", "30"), False),
        (("0", "8"), ("0", "9"), True),
        (("1", "8"), ("0", "1"), True),
    ],
)
def test_a_ratio_that_is_exceeded_may_come_down_and_not_rise(
    old: tuple[str, str], new: tuple[str, str], refused: bool
) -> None:
    before, after = (a_usage({"cpu": low}, {"cpu": high}) for low, high in (old, new))
    assert bool(grown({"maxLimitRequestRatio": {"cpu": "2"}}, before, after)) == refused


def test_each_metric_is_compared_with_itself() -> None:
    before = a_usage({}, {"cpu": "32", "memory": "1Gi"})
    after = a_usage({}, {"cpu": "31", "memory": "3Gi", "storage.premium": "2Gi"})
    maximum = {"cpu": "16", "memory": "2Gi", "storage.premium": "1Gi"}
    assert grown({"max": maximum}, before, after) == [
        "maximum memory usage per Worker is 2Gi, but limit is 3Gi",
        "maximum storage.premium usage per Worker is 1Gi, but limit is 2Gi",
    ]


def test_a_new_worker_is_judged_beside_one_that_is_too_large() -> None:
    large = a_usage({}, {"cpu": "32"})
    limits = ranges(
        a_range(
            "r", {"type": "Worker", "max": {"cpu": "16"}}, {"type": "Shoot", "max": {"cpu": "1"}}
        )
    )

    def usage(total: str, *workers: Usage) -> UsageByType:
        return UsageByType(a_usage({}, {"cpu": total}), workers, workers)

    old = usage("32", large)
    second = usage("33", large, a_usage({}, {"cpu": "1"}))
    assert list(violations(limits, second, old, [0, None])) == [
        "maximum cpu usage per Shoot is 1, but limit is 33"
    ]
    [found] = violations(limits, usage("32", large, large), old, [0, None]).values()
    assert found.worker == 1


def test_workers_are_compared_by_name_or_as_renamed() -> None:
    a, b, c = a_worker("a"), a_worker("b", autoScalerMax=9), a_worker("c")
    old = demand_of(a_shoot(a, b, c))

    def matched(*workers: Object) -> list[int | None]:
        return same_workers(demand_of(a_shoot(*workers)), old)

    assert matched(c, a_worker("b", autoScalerMax=1)) == [2, 1]
    assert matched(a, c, {**b, "name": "x"}) == [0, 2, 1]
    assert matched(a, b, c, {**b, "name": "x"}) == [0, 1, 2, None]
    assert matched({**b, "name": "x"}, {**b, "name": "y"}) == [1, None]


# Contradictions


def contradicted(own: Object, *others: Object) -> list[str]:
    return list(contradictions(parse_range(own), ranges(*others)))


def test_ranges_that_cannot_both_be_kept_contradict_each_other() -> None:
    own = a_range("own", {"type": "Worker", "min": {"machines": "5"}, "default": {"machines": "6"}})
    other = a_range("b", {"type": "Worker", "max": {"machines": "3"}})
    assert contradicted(own, other) == [
        "contradicts ShootLimitRange garden-dev/b: "
        "its min of machines per Worker, 5, is greater than the other's max, 3",
        "contradicts ShootLimitRange garden-dev/b: "
        "its default of machines per Worker, 6, is greater than the other's max, 3",
    ]
    assert contradicted(other, own) == [
        "contradicts ShootLimitRange garden-dev/own: "
        "the other's min of machines per Worker, 5, is greater than its max, 3",
        "contradicts ShootLimitRange garden-dev/own: "
        "the other's default of machines per Worker, 6, is greater than its max, 3",
    ]


@pytest.mark.parametrize(
    "limit",
    [
        {"type": "Worker", "max": {"machines": "5"}},
        {"type": "Worker", "max": {"cpu": "1"}},
        {"type": "Shoot", "max": {"machines": "1"}},
        {"type": "Worker", "min": {"machines": "4"}},
    ],
)
def test_ranges_that_can_both_be_kept_do_not(limit: Object) -> None:
    own = a_range("own", {"type": "Worker", "min": {"machines": "5"}})
    assert contradicted(own, a_range("b", limit)) == []
