"""Laws of ownership and server-side apply, on quotas and shoots made up at random."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apis.garden.v1beta1.register import QUOTA, SHOOT
from apis.meta import codec, fieldset
from apis.meta.apply import Applier, Apply
from apis.meta.errors import StatusError
from apis.meta.managedfields import Ownership
from apis.meta.managers import identity
from apis.meta.transaction import Object
from apis.meta.typed_objects import compare_objects
from tests.builders import API_VERSION

# A history is some ten applies: a hundred of them are enough even where others are looked at longer.
some = settings(max_examples=min(100, settings().max_examples))

NOW = "2024-01-01T00:00:00Z"
MANAGERS = st.sampled_from(["alice", "bob", "eve"])

values = st.recursive(
    st.sampled_from(["x", "y", 1, True, 1.5]) | st.just([]),
    lambda inner: (
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=2)
    ),
    max_leaves=5,
)
workers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abc")},
        optional={"autoScalerMax": st.integers(0, 2), "extra": values},
    ),
    max_size=3,
    unique_by=lambda worker: str(worker["name"]),
)
clouds = st.fixed_dictionaries(
    {},
    optional={
        "seed": st.sampled_from("ab"),
        "aws": st.fixed_dictionaries(
            {},
            optional={
                "workers": workers,
                "zones": st.lists(st.sampled_from("xyz"), unique=True, max_size=3),
                "more": values,
            },
        ),
    },
)
specs = st.fixed_dictionaries({}, optional={"cloud": clouds, "dns": values})
labels = st.dictionaries(st.sampled_from("lmn"), st.sampled_from("xy"), max_size=2)


@st.composite
def shoots(draw: st.DrawFn) -> Object:
    obj: Object = {"apiVersion": API_VERSION, "kind": "Shoot", "metadata": {"name": "s"}}
    if found := draw(labels):
        obj["metadata"]["labels"] = found
    obj["spec"] = draw(specs)
    return obj


OWNERSHIP = Ownership(SHOOT)
KIND = OWNERSHIP.type_of("")
APPLIER = Applier(SHOOT, OWNERSHIP)


def apply(live: Object | None, config: Object, manager: str, *, force: bool = True) -> Object:
    new = APPLIER.apply(live, config, Apply(manager=manager, now=NOW, force=force)).obj
    copied: Object = codec.copy(new)
    return copied


@st.composite
def histories(draw: st.DrawFn) -> Object:
    """An object after some applies and updates of several managers."""
    live = apply(None, draw(shoots()), draw(MANAGERS))
    for _ in range(draw(st.integers(0, 3))):
        manager, other = draw(MANAGERS), draw(shoots())
        if draw(st.booleans()):
            live = apply(live, other, manager)
        else:
            other["metadata"].pop("managedFields", None)
            entries = OWNERSHIP.updated(other, live, manager=manager, now=NOW)
            if entries:
                other["metadata"]["managedFields"] = codec.copy(entries)
            live = other
    return live


def stated(obj: Object) -> fieldset.FieldSet:
    return KIND.stated(obj) or {}


def members(fields: fieldset.FieldSet) -> set[str]:
    return set(fieldset.paths(fields))


@some
@given(histories(), shoots(), MANAGERS)
def test_applying_twice_is_applying_once(live: Object, config: Object, manager: str) -> None:
    once = apply(live, config, manager)
    again = APPLIER.apply(once, config, Apply(manager=manager, now="2025-01-01T00:00:00Z"))
    assert again.obj is once


def test_an_empty_list_stays_that_is_stated_in_an_object_which_was_pruned() -> None:
    meta = {"apiVersion": "garden.sapcloud.io/v1beta1", "kind": "Shoot", "metadata": {"name": "s"}}
    live = apply(None, meta | {"spec": {"cloud": {"aws": {"more": []}}}}, "alice")
    config = meta | {"spec": {"cloud": {"seed": "a", "aws": {"workers": []}}}}

    once = apply(live, config, "alice")

    assert once["spec"]["cloud"]["aws"] == {"workers": []}
    again = APPLIER.apply(once, config, Apply(manager="alice", now="2025-01-01T00:00:00Z"))
    assert again.obj is once


@some
@given(histories(), shoots(), MANAGERS)
def test_what_is_applied_by_force_is_there(live: Object, config: Object, manager: str) -> None:
    new = apply(live, config, manager)
    changed, removed = compare_objects(KIND, config, new)
    said = stated(config)
    assert fieldset.intersection(said, removed) == {}
    assert fieldset.intersection(_leaves(said), changed) == {}


def _leaves(fields: fieldset.FieldSet) -> fieldset.FieldSet:
    return {key: _leaves(child) for key, child in fields.items() if key != "."}


@some
@given(histories(), shoots(), MANAGERS)
def test_without_conflicts_force_makes_no_difference(
    live: Object, config: Object, manager: str
) -> None:
    try:
        new = apply(live, config, manager, force=False)
    except StatusError as refused:
        assert refused.code == 409  # noqa: PT017 - the other outcome is as lawful
    else:
        assert new == apply(live, config, manager)


@some
@given(histories(), shoots(), MANAGERS)
def test_a_field_goes_only_when_its_applier_leaves_it_and_nobody_else_owns_it(
    live: Object, config: Object, manager: str
) -> None:
    new = apply(live, config, manager)
    changed, removed = compare_objects(KIND, live, new)
    # What lay beneath a field whose type another one has taken the place of is gone as well.
    gone = members(removed) - members(_beneath_replaced(removed, changed))
    me = (manager, "Apply", "", "")
    mine: set[str] = set()
    others: set[str] = set()
    for entry in live["metadata"].get("managedFields", []):
        (mine if identity(entry) == me else others).update(members(entry["fieldsV1"]))
    roots = {path for path in gone if path in mine and path not in others}
    for path in gone & others:
        # A part of an item goes with the item.
        assert any(path.startswith((f"{root}.", f"{root}[")) for root in roots)
    assert mine or not gone


def _beneath_replaced(removed: fieldset.FieldSet, changed: fieldset.FieldSet) -> fieldset.FieldSet:
    found = {}
    for key, node in removed.items():
        other = changed.get(key)
        if other is None or key == ".":
            continue
        if fieldset.is_member(other):
            found[key] = node
        elif beneath := _beneath_replaced(node, other):
            found[key] = beneath
    return found


@given(histories())
def test_every_field_of_a_tracked_object_that_is_owned_exists(live: Object) -> None:
    for entry in live["metadata"].get("managedFields", []):
        fields = {key: node for key, node in entry["fieldsV1"].items() if key != "f:metadata"}
        have: dict[str, Any] = {"metadata": {}}
        there, _ = compare_objects(KIND, have, live)
        assert not members(fields) - members(there)


@given(histories())
def test_entries_are_unique_ordered_and_canonical(live: Object) -> None:
    entries = live["metadata"].get("managedFields", [])
    assert len({identity(entry) for entry in entries}) == len(entries)
    for entry in entries:
        fields = entry["fieldsV1"]
        assert codec.encode(fieldset.parse(fields)) == codec.encode(fields)


@given(shoots())
def test_an_update_that_changes_nothing_keeps_the_entries(obj: Object) -> None:
    obj["metadata"]["managedFields"] = OWNERSHIP.created(obj, manager="a", now=NOW)
    entries = OWNERSHIP.updated(codec.copy(obj), obj, manager="b", now=NOW)
    assert entries is obj["metadata"]["managedFields"]


@given(shoots(), shoots())
def test_no_two_updaters_own_what_one_of_them_changed_last(one: Object, other: Object) -> None:
    one["metadata"]["managedFields"] = OWNERSHIP.created(one, manager="a", now=NOW)
    entries = OWNERSHIP.updated(other, one, manager="b", now=NOW)
    by_manager = {entry["manager"]: entry["fieldsV1"] for entry in entries}
    assert fieldset.intersection(by_manager.get("a", {}), by_manager.get("b", {})) == {}


@given(st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 3)))
def test_numbers_and_their_quantities_are_the_same_configuration(metrics: dict[str, int]) -> None:
    def config(values: dict[str, Any]) -> Object:
        spec = {"scope": "secret", "metrics": values}
        return {"apiVersion": API_VERSION, "kind": "Quota", "metadata": {"name": "q"}, "spec": spec}

    applier = Applier(QUOTA, Ownership(QUOTA))
    live = applier.apply(
        None, config({k: str(v) for k, v in metrics.items()}), Apply(manager="a", now=NOW)
    ).obj
    assert applier.apply(live, config(dict(metrics)), Apply(manager="a", now=NOW)).obj is live
