"""Quota: its schema, rules and row."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import QUOTA, QUOTA_USAGE
from apis.meta.transaction import NO_HEADER, Object
from tests.builders import a_quota, an_object
from tests.settled import faults, settle


def with_spec(**changes: Any) -> Object:
    quota = a_quota()
    quota["spec"] |= changes
    return quota


def row(quota: Object) -> dict[str, object]:
    return {column.name: column.cell(quota, NO_HEADER) for column in QUOTA.columns}


def test_metrics_may_be_empty_for_a_quota_that_only_limits_lifetimes() -> None:
    assert faults(with_spec(metrics={}, clusterLifetimeDays=1)) == []


@pytest.mark.parametrize("days", [0, -1, 36_501])
def test_a_lifetime_that_is_no_sane_number_of_days_is_refused(days: int) -> None:
    [fault] = faults(with_spec(clusterLifetimeDays=days))

    assert fault.startswith(f"spec.clusterLifetimeDays: Invalid value: {days}: ")


def test_an_unknown_metric_is_answered_with_the_known_ones() -> None:
    [fault] = faults(with_spec(metrics={"pods": "1"}))

    assert fault == (
        'spec.metrics[pods]: Unsupported value: "pods": supported values: "cpu", "gpu", "memory", '
        '"storage.<class>", "pvc.<class>", "loadbalancer", "machines", "shoots", "cpus", "gpus", '
        '"disk.<class>", "loadbalancers"'
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [("cpu", "cpus"), ("gpus", "gpu"), ("storage.x", "disk.x"), ("loadbalancer", "loadbalancers")],
)
def test_a_metric_has_one_of_its_two_names(first: str, second: str) -> None:
    assert faults(with_spec(metrics={first: "1", second: "1"})) == [
        f'spec.metrics[{second}]: Invalid value: "1": is the same metric as {first}: '
        "only one of the two may be given"
    ]


def test_numbers_are_quantities() -> None:
    quota = settle(with_spec(metrics={"cpu": 1.5, "gpu": 0, "memory": "1024Gi"}))

    assert quota["spec"]["metrics"] == {"cpu": "1500m", "gpu": "0", "memory": "1Ti"}


def test_a_null_is_no_amount() -> None:
    assert faults(with_spec(metrics={"cpu": None, "gpu": "1"})) == [
        'spec.metrics[cpu]: Invalid value: "null": null is no amount: write 0 for none, or leave '
        "it out for no limit"
    ]


@pytest.mark.parametrize("amount", ["-1", "-1n", -1])
def test_a_negative_amount_is_refused(amount: object) -> None:
    [fault] = faults(with_spec(metrics={"cpu": amount}))

    assert fault.startswith("spec.metrics[cpu]: Invalid value: ")
    assert fault.endswith("must be greater than or equal to 0")


def test_all_faults_are_reported_at_once() -> None:
    quota = with_spec(scope="x", metrics={"a": "1", "cpu": "x"}, clusterLifetimeDays=0)

    assert [fault.split(": ")[0] for fault in faults(quota)] == [
        "spec.scope",
        "spec.metrics[cpu]",
        "spec.clusterLifetimeDays",
        "spec.metrics[a]",
    ]


def test_the_scope_is_immutable() -> None:
    assert faults(a_quota(scope="project"), a_quota(scope="secret")) == [
        'spec.scope: Invalid value: "project": field is immutable'
    ]


def test_everything_but_the_scope_may_change() -> None:
    new = a_quota(metrics={"memory": "1Gi"}, days=3)
    new["spec"]["machineTypes"] = ["small"]

    assert faults(new, a_quota()) == []


def test_a_quota_cannot_lose_its_spec() -> None:
    quota = a_quota()
    del quota["spec"]

    assert "spec: Required value" in faults(quota, a_quota())


def test_a_machine_type_is_listed_once() -> None:
    assert faults(with_spec(machineTypes=["a", "a"])) == [
        'spec.machineTypes[1]: Duplicate value: "a"'
    ]


def test_a_condition_is_one_per_type() -> None:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "R",
        "message": "m",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }

    assert faults(a_quota() | {"status": {"conditions": [ready]}}) == []
    assert faults(a_quota() | {"status": {"conditions": [ready, ready]}}) == [
        'status.conditions[1]: Duplicate value: {"type":"Ready"}'
    ]


def test_a_secret_quota_shows_what_is_used_of_each_metric() -> None:
    quota = a_quota(metrics={"memory": "400Gi", "cpu": "20"}, days=14)
    quota["status"] = {"used": {"cpu": "18"}}

    assert row(quota) | {"Age": None} == {
        "Scope": "secret",
        "Cluster Lifetime": "14d",
        "Used": "cpu: 18/20, memory: 0/400Gi",
        "Age": None,
    }


def test_a_project_quota_shows_that_usage_is_each_projects_own() -> None:
    assert row(a_quota(scope="project", metrics={"cpu": "20"}))["Used"] == "cpu: -/20"


def test_a_ledger_shows_what_is_used_and_where_it_is_limited() -> None:
    spec = {"quotaRef": {"namespace": "garden-trial", "name": "q"}, "scope": "project"}
    status = {"used": {"cpu": "2", "memory": "8Gi"}, "hard": {"cpu": "20"}}
    usage = an_object("QuotaUsage", name="x", namespace="dev", spec=spec, status=status)

    assert faults(usage) == []
    assert [column.cell(usage, NO_HEADER) for column in QUOTA_USAGE.columns[:3]] == [
        "garden-trial/q",
        "project",
        "cpu: 2/20, memory: 8Gi",
    ]
    assert QUOTA_USAGE.indexes["quota"](usage) == ("garden-trial/q",)
    assert {k: f(usage) for k, f in QUOTA_USAGE.selectable_fields.items()} == {
        "spec.quotaRef.namespace": "garden-trial",
        "spec.quotaRef.name": "q",
    }
