from typing import Any

import pytest

from apis.garden.v1beta1.register import QUOTA, SHOOT
from apis.meta import codec
from apis.meta.apply import LAST_APPLIED, Applied, Applier, Apply
from apis.meta.errors import StatusError
from apis.meta.managedfields import BEFORE_APPLY, Ownership
from apis.meta.transaction import Object
from tests.builders import API_VERSION, a_quota, a_shoot, a_worker

NOW = "2024-01-01T00:00:00Z"
QUOTAS, SHOOTS = Ownership(QUOTA), Ownership(SHOOT)


def a_config(**spec: Any) -> Object:
    return {"apiVersion": API_VERSION, "kind": "Quota", "metadata": {"name": "a"}, "spec": spec}


def applied(live: Object | None, config: Any, manager: str = "alice", **how: Any) -> Applied:
    applier = Applier(QUOTA, QUOTAS)
    return applier.apply(live, config, Apply(manager=manager, now=NOW, **how))


def applied_shoot(live: Object | None, config: Any, manager: str = "alice", **how: Any) -> Object:
    applier = Applier(SHOOT, SHOOTS)
    return applier.apply(live, config, Apply(manager=manager, now=NOW, **how)).obj


def refusal(live: Object | None, config: Any, manager: str = "alice", **how: Any) -> StatusError:
    with pytest.raises(StatusError) as refused:
        applied(live, config, manager, **how)
    return refused.value


def a_shoot_with(*names: str, **extra: Any) -> Object:
    shoot = a_shoot(workers=[a_worker(name=name) for name in names])
    shoot["spec"].update(extra)
    return shoot


def worker_names(shoot: Object) -> list[str]:
    return [worker["name"] for worker in shoot["spec"]["cloud"]["aws"]["workers"]]


# Removal


def test_a_field_that_is_no_longer_applied_goes() -> None:
    live = applied(None, a_config(scope="secret", metrics={"cpu": "1", "gpu": "1"})).obj
    live = applied(live, a_config(scope="secret", metrics={"cpu": "1"})).obj
    assert live["spec"]["metrics"] == {"cpu": "1"}


def test_a_field_that_somebody_else_applies_too_stays() -> None:
    live = applied(None, a_config(scope="secret", metrics={"cpu": "1"})).obj
    live = applied(live, a_config(scope="secret"), "bob").obj
    live = applied(live, a_config(metrics={"cpu": "1"})).obj
    assert live["spec"]["scope"] == "secret"


def test_what_others_put_beneath_a_field_that_goes_stays() -> None:
    live = applied_shoot(None, a_shoot_with("a", addons={"x": {"enabled": True}}))
    bobs = {**a_shoot(), "spec": {"addons": {"y": {"enabled": True}}}}
    live = applied_shoot(live, bobs, "bob")
    live = applied_shoot(live, a_shoot_with("a"))
    assert live["spec"]["addons"] == {"y": {"enabled": True}}


def test_an_emptied_object_that_another_owns_stays_empty() -> None:
    live = a_quota()
    live["spec"]["metrics"] = {}
    live["metadata"]["managedFields"] = QUOTAS.created(live, manager="creator", now=NOW)
    live = applied(live, a_config(metrics={"cpu": "1"}), "bob").obj
    live = applied(live, a_config(scope="secret"), "bob").obj
    assert live["spec"] == {"scope": "secret", "metrics": {}}


def test_an_item_that_is_no_longer_applied_goes() -> None:
    live = applied_shoot(None, a_shoot_with("a", "b"))
    assert worker_names(applied_shoot(live, a_shoot_with("b"))) == ["b"]


def test_an_item_of_somebody_else_stays() -> None:
    live = applied_shoot(None, a_shoot_with("a"))
    other = {**a_shoot(), "spec": {"cloud": {"aws": {"workers": [a_worker(name="b")]}}}}
    live = applied_shoot(live, other, "bob")
    assert worker_names(applied_shoot(live, a_shoot_with("c"))) == ["b", "c"]


# Merging


def test_the_applied_order_holds_among_applied_items() -> None:
    live = applied_shoot(None, a_shoot_with("a", "b", "c"))
    assert worker_names(applied_shoot(live, a_shoot_with("c", "a", "b"))) == ["c", "a", "b"]


def test_a_set_is_joined() -> None:
    live = applied(None, a_config(scope="secret", metrics={}, machineTypes=["a", "b"])).obj
    live = applied(live, a_config(machineTypes=["c", "b"]), "bob").obj
    assert live["spec"]["machineTypes"] == ["a", "c", "b"]


def test_an_atomic_list_is_replaced() -> None:
    live = applied_shoot(None, a_shoot_with("a", dns={"providers": [1, 2]}))
    live = applied_shoot(live, a_shoot_with("a", dns={"providers": [3]}))
    assert live["spec"]["dns"]["providers"] == [3]


def test_a_quantity_in_another_notation_is_no_change() -> None:
    live = applied(None, a_config(scope="secret", metrics={"cpu": "1"})).obj
    again = applied(live, a_config(scope="secret", metrics={"cpu": "1000m"}), "bob")
    assert again.obj["spec"] == live["spec"]


def test_a_null_in_a_map_is_left_to_validation() -> None:
    live = applied(None, a_config(scope="secret", metrics={"cpu": "1"})).obj
    live = applied(live, a_config(metrics={"cpu": None})).obj
    assert live["spec"]["metrics"] == {"cpu": None}


def test_an_apply_that_changes_nothing_answers_the_very_object() -> None:
    config = a_config(scope="secret", metrics={"cpu": "1"})
    live = applied(None, config).obj
    assert applied(live, config).obj is live


def test_neither_the_live_object_nor_the_configuration_is_changed() -> None:
    config = a_shoot_with("a", addons={"x": {"enabled": True}})
    live = applied_shoot(None, config)
    before, sent = codec.copy(live), a_shoot_with("b")
    applied_shoot(live, sent)
    assert live == before
    assert sent == a_shoot_with("b")


# Conflicts


def test_several_conflicts_are_told_by_manager() -> None:
    live = applied(None, a_config(scope="secret", metrics={"cpu": "1"})).obj
    live = applied(live, a_config(clusterLifetimeDays=1), "bob").obj
    error = refusal(
        live, a_config(scope="project", metrics={"cpu": "2"}, clusterLifetimeDays=2), "eve"
    )
    assert error.message == (
        'Apply failed with 3 conflicts: conflicts with "alice":\n- .spec.scope\n- .spec.metrics.cpu\n'
        'conflicts with "bob":\n- .spec.clusterLifetimeDays'
    )
    assert error.details is not None
    assert error.details["causes"][0] == {
        "reason": "FieldManagerConflict", "message": 'conflict with "alice"', "field": ".spec.scope",
    }  # fmt: skip


def test_a_conflict_about_the_status_names_the_subresource() -> None:
    live = applied_shoot(None, a_shoot())
    status = {"apiVersion": API_VERSION, "kind": "Shoot", "status": {"seed": "a"}}
    live = applied_shoot(live, status, "ctl", subresource="status")
    with pytest.raises(StatusError) as refused:
        applied_shoot(live, {**status, "status": {"seed": "b"}}, subresource="status")
    assert refused.value.message == (
        'Apply failed with 1 conflict: conflict with "ctl" with subresource "status": .status.seed'
    )


def test_force_takes_the_field() -> None:
    live = applied(None, a_config(scope="secret", metrics={"cpu": "1"})).obj
    result = applied(live, a_config(metrics={"cpu": "2"}), "bob", force=True)
    assert [entry["fieldsV1"] for entry in result.entries] == [
        {"f:spec": {"f:scope": {}}},
        {"f:spec": {"f:metrics": {"f:cpu": {}}}},
    ]


def test_what_was_there_before_the_first_apply_has_an_owner() -> None:
    error = refusal(a_quota(metrics={"cpu": "1"}), a_config(metrics={"cpu": "2"}))
    assert error.message == (
        f'Apply failed with 1 conflict: conflict with "{BEFORE_APPLY}" using {API_VERSION}: '
        ".spec.metrics.cpu"
    )


def test_kubectl_takes_over_what_it_applied_without_the_server() -> None:
    live = a_quota(metrics={"cpu": "1"})
    last = codec.encode({**live, "metadata": {"name": "quota"}}).decode()
    live["metadata"]["annotations"] = {LAST_APPLIED: last}
    live["metadata"]["managedFields"] = QUOTAS.created(live, manager="kubectl-client", now=NOW)
    new = applied(live, a_config(scope="secret", metrics={"cpu": "2"}), "kubectl").obj
    assert new["spec"]["metrics"] == {"cpu": "2"}
    assert '"cpu":"2"' in new["metadata"]["annotations"][LAST_APPLIED]
    assert refusal(live, a_config(metrics={"cpu": "2"}), "other").code == 409


def test_kubectl_does_not_take_over_what_others_changed_since() -> None:
    live = a_quota(metrics={"cpu": "1"})
    last = {**live, "spec": {"scope": "secret", "metrics": {"cpu": "7"}}}
    live["metadata"]["annotations"] = {LAST_APPLIED: codec.encode(last).decode()}
    live["metadata"]["managedFields"] = QUOTAS.created(live, manager="creator", now=NOW)
    assert refusal(live, a_config(metrics={"cpu": "2"}), "kubectl").code == 409


# What is no configuration


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"scope": 1}, ".spec.scope: expected string, got &value.valueUnstructured{Value:1}"),
        ({"metrics": [1]}, ".spec.metrics: expected map, got &{[1]}"),
        ({"metrics": {"cpu": {"a": 1}}}, ".spec.metrics.cpu: expected any scalar, got &{map[a:1]}"),
        ({"machineTypes": "x"}, ".spec.machineTypes: expected list, got &{x}"),
        ({"machineTypes": ["a", "a"]}, '.spec.machineTypes: duplicate entries for key [="a"]'),
        (
            {"machineTypes": [None]},
            ".spec.machineTypes: element 0: associative list without keys has an element that's an explicit null",
        ),
        ({"clusterLifetimeDays": "x"}, ".spec.clusterLifetimeDays: expected numeric (int or float), got string"),
    ],
)  # fmt: skip
def test_a_configuration_that_does_not_fit_is_a_400(spec: Any, fault: str) -> None:
    error = refusal(None, a_config(**spec))
    prefix = f"failed to create typed patch object (/a; {API_VERSION}, Kind=Quota): "
    assert (error.code, error.reason) == (400, "BadRequest")
    assert error.message == prefix + fault


@pytest.mark.parametrize(
    ("workers", "fault"),
    [
        ([{}], 'element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)'),
        ([1], "element 0: associative list with keys may not have non-map elements"),
        ([{"name": "a"}, {"name": "a"}], 'duplicate entries for key [name="a"]'),
    ],
)  # fmt: skip
def test_items_need_their_keys(workers: Any, fault: str) -> None:
    shoot = a_shoot()
    shoot["spec"]["cloud"]["aws"]["workers"] = workers
    with pytest.raises(StatusError) as refused:
        applied_shoot(None, shoot)
    assert refused.value.message.endswith(f".spec.cloud.aws.workers: {fault}")


def test_several_faults_are_told_line_by_line() -> None:
    config = a_config(scope=1)
    config["metadata"]["labels"] = {"a": 1}
    message = refusal(None, config).message
    value = "expected string, got &value.valueUnstructured{Value:1}"
    assert message.endswith(f"errors:\n  .metadata.labels.a: {value}\n  .spec.scope: {value}")


@pytest.mark.parametrize("config", [None, [], "x", 1])
def test_what_is_no_object_is_a_bad_request(config: Any) -> None:
    assert refusal(None, config).code == 400


def test_labels_that_go_take_nothing_of_the_systems_metadata_along() -> None:
    config = a_config(scope="secret", metrics={})
    live = applied(None, {**config, "metadata": {"name": "a", "labels": {"x": "y"}}}).obj
    live["metadata"]["uid"] = "u"
    new = applied(live, config).obj["metadata"]
    assert (new["name"], new["uid"]) == ("a", "u")
    assert "labels" not in new


def test_an_object_that_holds_nothing_but_an_empty_list_stays_where_it_is_applied() -> None:
    live = applied_shoot(None, {**a_shoot(), "spec": {"cloud": {"seed": "s"}}})
    live["spec"]["cloud"]["aws"] = {"workers": []}
    live = applied_shoot(live, {**a_shoot(), "spec": {"cloud": {}}})
    assert live["spec"] == {"cloud": {"aws": {"workers": []}}}


@pytest.mark.parametrize(
    "last",
    ["", "{", "[]", '{"apiVersion":"v1"}', f'{{"apiVersion":"{API_VERSION}","nope":1}}'],
)
def test_a_last_configuration_that_cannot_be_read_allows_nothing(last: str) -> None:
    live = a_quota(metrics={"cpu": "1"})
    live["metadata"]["annotations"] = {LAST_APPLIED: last}
    assert refusal(live, a_config(metrics={"cpu": "2"}), "kubectl").code == 409


def test_the_annotation_does_not_hold_itself() -> None:
    live = a_quota(metrics={"cpu": "1"})
    live["metadata"]["annotations"] = {LAST_APPLIED: "{}"}
    config = a_config(scope="secret")
    config["metadata"]["annotations"] = {LAST_APPLIED: "{}"}
    new = applied(live, config, "kubectl", force=True).obj
    again = applied(new, config, "kubectl", force=True).obj
    assert LAST_APPLIED not in again["metadata"]["annotations"][LAST_APPLIED]


@pytest.mark.parametrize(
    ("version", "shown"),
    [("v1", "/v1, Kind=Quota"), ("a/b/c", "/, Kind="), (1, "/, Kind=Quota"), ("x.y/v1", "x.y/v1, Kind=Quota")],
)  # fmt: skip
def test_another_kind_of_object_is_a_bad_request(version: Any, shown: str) -> None:
    error = refusal(None, {**a_config(), "apiVersion": version})
    assert (error.code, error.message) == (400, f"invalid object type: {shown}")


def test_a_configuration_without_metadata_states_none() -> None:
    config = {"apiVersion": API_VERSION, "kind": "Quota", "spec": {"scope": "secret"}}
    assert applied(a_quota(), config).obj["metadata"]["name"] == "quota"


def test_an_applier_that_states_nothing_has_no_entry() -> None:
    live = applied(None, a_config(scope="secret")).obj
    config = {"apiVersion": API_VERSION, "kind": "Quota", "metadata": {"name": "a"}}
    result = applied(live, config)
    assert result.entries == []
    assert "managedFields" not in result.obj["metadata"]
