from typing import Any

import pytest

from apis.garden.v1beta1.register import QUOTA, SHOOT
from apis.meta import codec
from apis.meta.managedfields import Ownership, keep_times
from apis.meta.managers import ANCIENT, MAX_UPDATE_MANAGERS, Entries, identity, manager_name
from apis.meta.structure import ABSENT
from apis.meta.transaction import Object
from tests.builders import a_quota, a_shoot, a_worker

T0, T1 = "2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z"
QUOTAS, SHOOTS = Ownership(QUOTA), Ownership(SHOOT)


def tracked(obj: Object, manager: str = "creator", ownership: Ownership = QUOTAS) -> Object:
    obj["metadata"]["managedFields"] = ownership.created(obj, manager=manager, now=T0)
    return obj


def changed(obj: Object, **spec: Any) -> Object:
    new: Object = codec.copy(obj)
    new["spec"].update(spec)
    return new


def fields_of(entries: Entries, manager: str, subresource: str = "") -> Any:
    (found,) = [
        entry["fieldsV1"]
        for entry in entries
        if entry["manager"] == manager and entry.get("subresource", "") == subresource
    ]
    return found


def test_a_changed_field_changes_hands() -> None:
    old = tracked(a_quota(metrics={"cpu": "1", "gpu": "1"}))
    new = changed(old, metrics={"cpu": "2", "gpu": "1"})
    entries = QUOTAS.updated(new, old, manager="bob", now=T1)
    assert fields_of(entries, "bob") == {"f:spec": {"f:metrics": {"f:cpu": {}}}}
    assert fields_of(entries, "creator") == {
        "f:spec": {".": {}, "f:metrics": {".": {}, "f:gpu": {}}, "f:scope": {}}
    }


def test_a_removed_field_is_nobodys() -> None:
    old = tracked(a_quota(days=3))
    new: Object = codec.copy(old)
    del new["spec"]["clusterLifetimeDays"]
    (entry,) = QUOTAS.updated(new, old, manager="bob", now=T1)
    assert "f:clusterLifetimeDays" not in entry["fieldsV1"]["f:spec"]
    assert (entry["manager"], entry["time"]) == ("creator", T0)


def test_the_time_is_that_of_the_last_write_that_gave_a_field() -> None:
    old = tracked(a_quota())
    (entry,) = QUOTAS.updated(changed(old, metrics={"cpu": "9"}), old, manager="creator", now=T1)
    assert entry["time"] == T1


def test_a_write_that_changes_nothing_keeps_the_very_entries() -> None:
    old = tracked(a_quota())
    entries = QUOTAS.updated(codec.copy(old), old, manager="bob", now=T1)
    assert entries is old["metadata"]["managedFields"]


def test_a_set_is_owned_value_by_value() -> None:
    old = tracked(a_quota())
    old["spec"]["machineTypes"] = ["a"]
    new = changed(old, machineTypes=["b", "a"])
    entries = QUOTAS.updated(new, old, manager="bob", now=T1)
    assert fields_of(entries, "bob") == {"f:spec": {"f:machineTypes": {'v:"b"': {}}}}


def test_items_of_a_list_are_owned_by_their_keys() -> None:
    old = tracked(a_shoot(workers=[a_worker(name="a")]), ownership=SHOOTS)
    new: Object = codec.copy(old)
    new["spec"]["cloud"]["aws"]["workers"] = [a_worker(name="b"), a_worker(name="a", maximum=5)]
    entries = SHOOTS.updated(new, old, manager="bob", now=T1)
    workers = fields_of(entries, "bob")["f:spec"]["f:cloud"]["f:aws"]["f:workers"]
    assert workers['k:{"name":"a"}'] == {"f:autoScalerMax": {}}
    assert workers['k:{"name":"b"}']["."] == {}


def test_an_undeclared_object_is_granular_and_an_undeclared_list_is_atomic() -> None:
    shoot = a_shoot()
    shoot["spec"]["dns"] = {"domain": "x", "providers": [{"a": 1}]}
    (entry,) = SHOOTS.created(shoot, manager="m", now=T0)
    assert entry["fieldsV1"]["f:spec"]["f:dns"] == {".": {}, "f:domain": {}, "f:providers": {}}


def test_an_undeclared_field_that_becomes_an_object_is_owned_with_all_that_is_in_it() -> None:
    old = a_shoot()
    old["spec"]["dns"] = "x"
    old = tracked(old, ownership=SHOOTS)
    new = changed(old, dns={"domain": "x"})
    entries = SHOOTS.updated(new, old, manager="bob", now=T1)
    assert fields_of(entries, "bob") == {"f:spec": {"f:dns": {".": {}, "f:domain": {}}}}


def test_true_is_another_value_than_one() -> None:
    old = a_shoot()
    old["spec"]["extra"] = {"a": 1}
    old = tracked(old, ownership=SHOOTS)
    entries = SHOOTS.updated(changed(old, extra={"a": True}), old, manager="bob", now=T1)
    assert fields_of(entries, "bob") == {"f:spec": {"f:extra": {"f:a": {}}}}


def test_the_status_that_the_server_writes_is_nobodys() -> None:
    old = tracked(a_quota())
    new: Object = codec.copy(old)
    new["status"] = {"used": {"cpu": "1"}, "hard": {"cpu": "2"}}
    entries = QUOTAS.updated(new, old, manager="ctl", now=T1, subresource="status")
    assert fields_of(entries, "ctl", "status") == {"f:status": {}}


def test_a_write_of_the_status_takes_nothing_else() -> None:
    old = tracked(a_shoot(), ownership=SHOOTS)
    new: Object = codec.copy(old)
    new["metadata"]["labels"] = {"a": "b"}
    new["status"] = {"seed": "s"}
    entries = SHOOTS.updated(new, old, manager="ctl", now=T1, subresource="status")
    assert fields_of(entries, "ctl", "status") == {"f:status": {".": {}, "f:seed": {}}}


def test_an_owner_reference_is_owned_as_a_whole() -> None:
    quota = a_quota()
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}
    quota["metadata"]["ownerReferences"] = [reference]
    (entry,) = QUOTAS.created(quota, manager="m", now=T0)
    assert entry["fieldsV1"]["f:metadata"] == {"f:ownerReferences": {".": {}, 'k:{"uid":"u1"}': {}}}


@pytest.mark.parametrize("sent", [[], [{}], [{"manager": "", "operation": None}]])
def test_empty_entries_from_a_client_end_the_tracking(sent: list[Any]) -> None:
    old = tracked(a_quota())
    assert QUOTAS.updated(old, old, manager="bob", now=T1, given=sent) == []
    del old["metadata"]["managedFields"]
    assert QUOTAS.updated(changed(old, metrics={}), old, manager="bob", now=T1) == []


@pytest.mark.parametrize(
    "sent",
    [
        None, "x", [1], [{"manager": "x"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v", "fieldsType": "Other"}],
        [{"manager": "x", "operation": "Other", "apiVersion": "v", "fieldsType": "FieldsV1"}],
        [{"manager": 1, "operation": "Apply", "apiVersion": "v", "fieldsType": "FieldsV1"}],
        [{"manager": "x", "operation": "Apply", "apiVersion": "v", "fieldsType": "FieldsV1", "fieldsV1": {"q": {}}}],
        [{"manager": "x", "operation": "Apply", "apiVersion": "v", "fieldsType": "FieldsV1", "time": "noon"}],
    ],
)  # fmt: skip
def test_entries_from_a_client_that_cannot_be_read_count_for_nothing(sent: Any) -> None:
    old = tracked(a_quota())
    entries = QUOTAS.updated(old, old, manager="bob", now=T1, given=sent)
    assert entries is old["metadata"]["managedFields"]


def test_entries_from_a_client_replace_the_stored_ones() -> None:
    old = tracked(a_quota(), manager="kubectl-client-side-apply")
    sent = codec.copy(old["metadata"]["managedFields"])
    sent[0] |= {"manager": "kubectl", "operation": "Apply"}
    (entry,) = QUOTAS.updated(old, old, manager="kubectl", now=T1, given=sent)
    assert identity(entry) == ("kubectl", "Apply", "", "")


def test_entries_sent_by_way_of_the_status_count_for_nothing() -> None:
    old = tracked(a_quota())
    entries = QUOTAS.updated(old, old, manager="b", now=T1, subresource="status", given=[])
    assert entries is old["metadata"]["managedFields"]


def test_entries_of_a_version_that_is_not_served_are_dropped() -> None:
    old = tracked(a_quota())
    other = {**old["metadata"]["managedFields"][0], "apiVersion": "garden.sapcloud.io/v1alpha1"}
    old["metadata"]["managedFields"] = [other]
    new = changed(old, metrics={"cpu": "9"})
    (entry,) = QUOTAS.updated(new, old, manager="bob", now=T1)
    assert entry["manager"] == "bob"


def test_the_oldest_updaters_become_one_entry() -> None:
    obj = tracked(a_quota())
    for second in range(1, MAX_UPDATE_MANAGERS + 3):
        new: Object = codec.copy(obj)
        new["metadata"].setdefault("labels", {})[f"l{second}"] = "x"
        new["metadata"]["managedFields"] = QUOTAS.updated(
            new, obj, manager=f"m{second:02}", now=f"2024-01-01T00:01:{second:02}Z"
        )
        obj = new
    entries = obj["metadata"]["managedFields"]
    assert len(entries) == MAX_UPDATE_MANAGERS
    assert entries[0]["manager"] == ANCIENT
    assert entries[0]["time"] == "2024-01-01T00:01:03Z"
    assert set(entries[0]["fieldsV1"]["f:metadata"]["f:labels"]) == {".", "f:l1", "f:l2", "f:l3"}


def test_times_alone_are_no_change() -> None:
    old = tracked(a_quota())
    new: Object = codec.copy(old)
    new["metadata"]["managedFields"][0]["time"] = T1
    keep_times(new, old)
    assert new == old


def test_a_time_stays_where_the_object_changed() -> None:
    old = tracked(a_quota())
    new = changed(old, metrics={"cpu": "7"})
    new["metadata"]["managedFields"][0]["time"] = T1
    keep_times(new, old)
    assert new["metadata"]["managedFields"][0]["time"] == T1


@pytest.mark.parametrize(
    ("named", "agent", "expected"),
    [
        ("me", "x/1", "me"), ("", "kubectl/v1.30 (linux)", "kubectl"), ("", "curl", "curl"),
        ("", "", ""), ("", "x" * 200, "x" * 128), ("", "a\x00b/1", "ab"), ("", "ä" * 100, "ä" * 64),
    ],
)  # fmt: skip
def test_the_manager_is_who_the_client_says_it_is(named: str, agent: str, expected: str) -> None:
    assert manager_name(named, agent) == expected


def test_a_client_without_a_name_is_unknown() -> None:
    (entry,) = QUOTAS.created(a_quota(), manager="", now=T0, given=ABSENT)
    assert entry["manager"] == "unknown"


def test_entries_are_in_the_order_of_operation_time_and_name() -> None:
    obj = tracked(a_quota(), manager="z")
    for manager, now in (("b", T1), ("a", T1)):
        new: Object = codec.copy(obj)
        new["metadata"].setdefault("labels", {})[manager] = "x"
        new["metadata"]["managedFields"] = QUOTAS.updated(new, obj, manager=manager, now=now)
        obj = new
    assert [entry["manager"] for entry in obj["metadata"]["managedFields"]] == ["z", "a", "b"]
