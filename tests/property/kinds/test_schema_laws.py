"""Laws that hold for every kind and for any JSON that a client may send."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.garden.v1beta1.register import RESOURCES
from apis.meta.resource import Resource
from apis.meta.structure import ListOf, MapOf, Node, Struct
from apis.meta.transaction import NO_HEADER, Object
from tests.settled import faults, settle

every_kind = pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)

texts = st.sampled_from(["", "a", "a/b", "1", "-1", "3Gi", "1024Mi", "secret", "Worker", "aws"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2**63), st.floats(), texts, st.text(max_size=5)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def shaped(node: Node) -> st.SearchStrategy[Any]:
    """JSON that mostly follows a declaration, so that the depths of a schema are reached."""
    match node:
        case Struct():
            known = {name: shaped(child) for name, child in node.fields.items()}
            right: st.SearchStrategy[Any] = st.fixed_dictionaries(
                {}, optional=known | {"zz": anything}
            )
        case ListOf():
            right = st.lists(shaped(node.items), max_size=3)
        case MapOf():
            names = st.sampled_from(["cpu", "cpus", "memory", "storage.x", "pods", "é"])
            right = st.dictionaries(names, shaped(node.values), max_size=3)
        case _:
            right = scalars
    return st.one_of(right, right, right, anything)


_SHAPED = {
    resource.kind: st.fixed_dictionaries(
        {},
        optional={
            "apiVersion": scalars,
            "kind": scalars,
            "metadata": st.just({"name": "n", "namespace": "dev"}),
            **{name: shaped(node) for name, node in resource.schema.declaration.fields.items()},
        },
    )
    for resource in RESOURCES
}


def some(data: st.DataObject, resource: Resource) -> Object:
    found: Object = data.draw(_SHAPED[resource.kind])
    return found


def settled(resource: Resource, obj: Object) -> Object:
    resource.schema.prune(obj)
    resource.schema.default(obj)
    resource.defaults(obj)
    return obj


@every_kind
@given(data=st.data())
def test_what_was_pruned_has_nothing_to_prune(resource: Resource, data: st.DataObject) -> None:
    obj = some(data, resource)
    resource.schema.prune(obj)
    before = deepcopy(obj)

    assert resource.schema.prune(obj) == []
    assert repr(obj) == repr(before)


@every_kind
@given(data=st.data())
def test_what_was_defaulted_has_nothing_to_default(resource: Resource, data: st.DataObject) -> None:
    obj = settled(resource, some(data, resource))
    before = deepcopy(obj)

    assert repr(settled(resource, obj)) == repr(before)


@every_kind
@given(data=st.data())
def test_defaults_add_nothing_unknown(resource: Resource, data: st.DataObject) -> None:
    obj = settled(resource, some(data, resource))

    assert resource.schema.prune(obj) == []


@every_kind
@given(data=st.data())
def test_judging_never_fails_and_changes_nothing(resource: Resource, data: st.DataObject) -> None:
    new, old = some(data, resource), settled(resource, some(data, resource))
    before = repr(new), repr(old)

    resource.schema.validate(new)
    resource.schema.validate_update(new, old)
    resource.rules(new, None)
    resource.rules(new, old)

    assert (repr(new), repr(old)) == before


@every_kind
@given(data=st.data())
def test_what_is_valid_can_be_stored_again_shown_and_found(
    resource: Resource, data: st.DataObject
) -> None:
    obj = settled(resource, some(data, resource))
    if resource.schema.validate(obj) or resource.rules(obj, None):
        return

    assert resource.schema.validate_update(obj, deepcopy(obj)) == []
    for column in resource.columns:
        assert column.cell(obj, NO_HEADER) is None or column.cell(obj, NO_HEADER) != {}
    for index in resource.indexes.values():
        assert all(isinstance(value, str) for value in index(obj))
    for read in resource.selectable_fields.values():
        assert isinstance(read(obj), str)


@every_kind
@given(obj=st.dictionaries(texts, anything))
def test_any_object_at_all_is_judged(resource: Resource, obj: Object) -> None:
    settled(resource, obj)
    resource.schema.validate(obj)
    resource.rules(obj, None)


amounts = st.dictionaries(
    st.sampled_from(["cpu", "gpu", "memory", "storage.x", "machines", "shoots"]),
    st.integers(0, 10**12).map(str) | st.integers(0, 10**6).map("{}Gi".format),
)


@given(metrics=amounts)
def test_a_quota_of_sane_amounts_is_valid_and_stays_as_it_is_stored(metrics: Object) -> None:
    quota = {
        "apiVersion": "garden.sapcloud.io/v1beta1",
        "kind": "Quota",
        "metadata": {"name": "q", "namespace": "dev"},
        "spec": {"scope": "secret", "metrics": metrics},
    }

    assert faults(quota) == []
    assert settle(settle(quota)) == settle(quota)
