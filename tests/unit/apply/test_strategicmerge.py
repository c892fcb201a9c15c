from typing import Any

import pytest

from apis.garden.v1beta1.register import QUOTA, SHOOT
from apis.meta import codec
from apis.meta.errors import StatusError
from apis.meta.strategicmerge import parse_strategic_merge_patch
from apis.meta.transaction import Object
from tests.builders import a_quota, a_shoot, a_worker


def patched(obj: Object, changes: Any) -> Object:
    resource = QUOTA if obj["kind"] == "Quota" else SHOOT
    return parse_strategic_merge_patch(codec.encode(changes), resource).apply(obj)  # type: ignore[no-any-return]


def refusal(obj: Object, changes: Any) -> StatusError:
    with pytest.raises(StatusError) as refused:
        patched(obj, changes)
    return refused.value


def aws(**changes: Any) -> Object:
    return {"spec": {"cloud": {"aws": changes}}}


def workers(shoot: Object) -> list[tuple[str, int]]:
    found = shoot["spec"]["cloud"]["aws"].get("workers", [])
    return [(worker["name"], worker.get("autoScalerMax", 0)) for worker in found]


SHOOT_AB = a_shoot(workers=[a_worker(name="a"), a_worker(name="b")])
QUOTA_ABC = {
    **a_quota(),
    "spec": {"scope": "secret", "metrics": {}, "machineTypes": ["a", "b", "c"]},
}


def test_objects_are_merged_and_nulls_delete() -> None:
    obj = a_quota(metrics={"cpu": "1", "gpu": "2"}, days=1)
    new = patched(
        obj, {"spec": {"metrics": {"gpu": None, "cpu": "3"}, "clusterLifetimeDays": None}}
    )
    assert new["spec"] == {"scope": "secret", "metrics": {"cpu": "3"}}
    assert obj == a_quota(metrics={"cpu": "1", "gpu": "2"}, days=1)


def test_an_item_is_merged_by_its_key() -> None:
    new = patched(SHOOT_AB, aws(workers=[{"name": "b", "autoScalerMax": 7}]))
    assert workers(new) == [("a", 1), ("b", 7)]


def test_a_new_item_comes_first() -> None:
    new = patched(SHOOT_AB, aws(workers=[{"name": "c", "autoScalerMax": 3, "x": None}]))
    assert workers(new) == [("c", 3), ("a", 1), ("b", 1)]
    assert "x" not in new["spec"]["cloud"]["aws"]["workers"][0]


def test_an_item_is_deleted_by_its_key() -> None:
    assert workers(patched(SHOOT_AB, aws(workers=[{"name": "a", "$patch": "delete"}]))) == [
        ("b", 1)
    ]


def test_a_list_is_replaced_on_demand() -> None:
    new = patched(SHOOT_AB, aws(workers=[{"$patch": "replace"}, {"name": "z", "autoScalerMax": 2}]))
    assert workers(new) == [("z", 2)]


def test_an_object_is_replaced_on_demand() -> None:
    new = patched(SHOOT_AB, aws(**{"$patch": "replace", "zones": ["z"]}))
    assert new["spec"]["cloud"]["aws"] == {"zones": ["z"]}


def test_an_object_is_emptied_on_demand() -> None:
    assert patched(SHOOT_AB, aws(**{"$patch": "delete"}))["spec"]["cloud"]["aws"] == {}


def test_an_order_is_kept_and_what_it_does_not_name_stays_in_place() -> None:
    shoot = a_shoot(workers=[a_worker(name=name) for name in "abcd"])
    order = [{"name": "d"}, {"name": "b"}]
    new = patched(
        shoot,
        aws(**{"$setElementOrder/workers": order, "workers": [{"name": "b", "autoScalerMax": 5}]}),
    )
    assert workers(new) == [("a", 1), ("c", 1), ("d", 1), ("b", 5)]


def test_an_order_alone_orders() -> None:
    order = [{"name": "b"}, {"name": "a"}]
    assert workers(patched(SHOOT_AB, aws(**{"$setElementOrder/workers": order}))) == [
        ("b", 1),
        ("a", 1),
    ]


def test_an_order_that_does_not_fit_the_patch_is_refused() -> None:
    changes = aws(**{"$setElementOrder/workers": [{"name": "a"}], "workers": [{"name": "b"}]})
    error = refusal(SHOOT_AB, changes)
    assert error.code == 400
    assert "doesn't match $setElementOrder list" in error.message


def test_a_set_is_joined() -> None:
    new = patched(QUOTA_ABC, {"spec": {"machineTypes": ["d", "b"]}})
    assert sorted(new["spec"]["machineTypes"]) == ["a", "b", "c", "d"]


def test_values_are_deleted_from_a_set() -> None:
    new = patched(QUOTA_ABC, {"spec": {"$deleteFromPrimitiveList/machineTypes": ["b", "z"]}})
    assert new["spec"]["machineTypes"] == ["a", "c"]


def test_an_order_of_a_set_is_kept() -> None:
    changes = {"$setElementOrder/machineTypes": ["c", "a", "b"]}
    assert patched(QUOTA_ABC, {"spec": changes})["spec"]["machineTypes"] == ["c", "a", "b"]


def test_fields_that_are_not_retained_go() -> None:
    new = patched(SHOOT_AB, aws(**{"$retainKeys": ["zones"], "zones": ["eu-west-1b"]}))
    assert list(new["spec"]["cloud"]["aws"]) == ["zones"]


@pytest.mark.parametrize("retained", ["zones", ["workers"]])
def test_a_field_that_is_given_and_not_retained_is_refused(retained: Any) -> None:
    error = refusal(SHOOT_AB, aws(**{"$retainKeys": retained, "zones": ["x"]}))
    assert (error.code, error.message) == (400, "invalid patch format of retainKeys")


def test_finalizers_are_a_set_and_owners_are_told_apart_by_uid() -> None:
    obj = a_quota()
    obj["metadata"] |= {"finalizers": ["a/b"], "ownerReferences": [{"uid": "1", "name": "x"}]}
    changes = {"finalizers": ["c/d"], "ownerReferences": [{"uid": "1", "name": "y"}, {"uid": "2"}]}
    new = patched(obj, {"metadata": changes})["metadata"]
    assert sorted(new["finalizers"]) == ["a/b", "c/d"]
    assert new["ownerReferences"] == [{"uid": "1", "name": "y"}, {"uid": "2"}]


def test_an_undeclared_list_is_replaced() -> None:
    shoot = a_shoot()
    shoot["spec"]["dns"] = {"providers": [{"type": "a"}]}
    new = patched(shoot, {"spec": {"dns": {"providers": [{"type": "b"}]}}})
    assert new["spec"]["dns"]["providers"] == [{"type": "b"}]


def test_directives_in_what_is_new_are_carried_out() -> None:
    new = patched(
        a_shoot(),
        {"spec": {"new": {"a": None, "b": {"$patch": "delete"}, "$retainKeys": [], "c": 1}}},
    )
    assert new["spec"]["new"] == {"c": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (aws(workers=[{"machineType": "x"}]), "map: map[machineType:x] does not contain declared merge key: name"),
        (aws(workers=["x"]), "list element types are not identical: map[string]interface {} and string"),
        (aws(**{"$patch": "merge"}), "unknown patch type: merge in map: map[$patch:merge]"),
        (aws(workers=[{"$patch": "merge"}]), "merging lists cannot yet be specified in the patch"),
        (aws(**{"$setElementOrder": []}), "invalid patch format of setElementOrder list"),
        (aws(**{"$deleteFromPrimitiveList": []}), "invalid patch format of primitive list"),
        (aws(**{"$setElementOrder/workers": {}}), "expected a []interface {}, but received a map[string]interface {}"),
    ],
)  # fmt: skip
def test_a_patch_that_makes_no_sense_is_a_bad_request(changes: Any, message: str) -> None:
    error = refusal(SHOOT_AB, changes)
    assert (error.code, error.message) == (400, message)


def test_lists_of_lists_cannot_be_processed() -> None:
    error = refusal(QUOTA_ABC, {"spec": {"machineTypes": [["x"]]}})
    assert (error.code, error.reason) == (422, "Invalid")


@pytest.mark.parametrize("data", [b"[]", b"1", b'"x"', b"{", b""])
def test_what_is_no_object_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(StatusError) as refused:
        parse_strategic_merge_patch(data, QUOTA)
    assert refused.value.code == 400


def test_fields_that_a_patch_says_twice_are_told() -> None:
    patch = parse_strategic_merge_patch(b'{"spec":{"a":1,"a":2}}', SHOOT)
    assert patch.duplicates == ("spec.a",)


@pytest.mark.timeout(10)
def test_lists_of_thousands_of_items_are_merged_in_proportion_to_their_length() -> None:
    """Pair by pair they would take minutes, during which nobody else is served."""
    names = [f"t{n}" for n in range(10_000)]
    quota = {**a_quota(), "status": {"conditions": [{"type": name} for name in names]}}
    quota["spec"] = {**QUOTA_ABC["spec"], "machineTypes": names}
    added = [{"type": f"new-{name}"} for name in names]
    removed = [{"type": name, "$patch": "delete"} for name in names]

    new = patched(
        quota,
        {
            "status": {"conditions": [*added, *removed]},
            "spec": {"$deleteFromPrimitiveList/machineTypes": names},
        },
    )

    assert new["status"]["conditions"] == added
    assert new["spec"]["machineTypes"] == []
