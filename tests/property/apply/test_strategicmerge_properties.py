"""Laws of strategic merge patch."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apis.garden.v1beta1.register import SHOOT
from apis.meta import codec
from apis.meta.patch import merge
from apis.meta.strategicmerge import apply_strategic, whole_schema
from apis.meta.transaction import Object

SCHEMA = whole_schema(SHOOT)

scalars = st.sampled_from(["x", "y", 1, True])
maps = st.recursive(
    scalars, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)
objects = st.dictionaries(st.sampled_from(["spec", "a"]), maps)
changes = st.dictionaries(
    st.sampled_from(["spec", "a"]),
    st.recursive(
        scalars | st.none(),
        lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
)
worker = st.fixed_dictionaries(
    {"name": st.sampled_from("abcd")}, optional={"autoScalerMax": st.integers(0, 3)}
)
worker_lists = st.lists(worker, max_size=4, unique_by=lambda item: str(item["name"]))


def shoot(workers: list[Any], **more: Any) -> Object:
    return {"spec": {"cloud": {"aws": {"workers": workers, **more}}}}


def workers_of(obj: Object) -> list[Any]:
    found: list[Any] = obj["spec"]["cloud"]["aws"]["workers"]
    return found


@given(objects, changes)
def test_with_objects_alone_it_is_a_merge_patch(old: Object, patch: Object) -> None:
    expected = merge(old, patch)
    assert apply_strategic(old, patch, SCHEMA) == expected


@given(worker_lists, worker_lists)
def test_a_merged_list_has_every_item_once(old: list[Any], patch: list[Any]) -> None:
    merged = workers_of(apply_strategic(shoot(old), shoot(patch), SCHEMA))
    by_name = {item["name"]: item for item in old}
    for item in patch:
        by_name[item["name"]] = {**by_name.get(item["name"], {}), **item}
    assert sorted(merged, key=str) == sorted(by_name.values(), key=str)


@given(worker_lists, worker_lists)
def test_patching_twice_is_patching_once(old: list[Any], patch: list[Any]) -> None:
    once = apply_strategic(shoot(old), shoot(patch), SCHEMA)
    assert apply_strategic(once, shoot(patch), SCHEMA) == once


@given(worker_lists, st.permutations("abcd"))
def test_a_full_order_is_the_order(old: list[Any], order: list[str]) -> None:
    patch: Any = {
        "spec": {"cloud": {"aws": {"$setElementOrder/workers": [{"name": n} for n in order]}}}
    }
    names = [item["name"] for item in workers_of(apply_strategic(shoot(old), patch, SCHEMA))]
    assert names == [name for name in order if name in {item["name"] for item in old}]


@given(worker_lists, worker_lists)
def test_neither_argument_is_changed_nor_shared(old: list[Any], patch: list[Any]) -> None:
    obj, change = shoot(old), shoot(patch)
    before = codec.encode([obj, change])
    new = apply_strategic(obj, change, SCHEMA)
    new["spec"]["cloud"]["aws"]["workers"].append("changed")
    for item in new["spec"]["cloud"]["aws"]["workers"]:
        if isinstance(item, dict):
            item["changed"] = True
    assert codec.encode([obj, change]) == before
