"""Which unknown names are taken for a slip of the pen, and which are other words."""

import pytest

from apis.meta.nearmisses import meaning
from apis.meta.schema import Schema
from apis.meta.structure import ListOf, ListType, String, Struct

MEANT = meaning(
    {
        "cpu": ("vcpu", "cores"),
        "gpu": (),
        "memory": ("mem", "ram"),
        "usable": (),
        "volumeSize": ("diskSize",),
        "autoScalerMin": ("minimum",),
        "autoScalerMax": ("maximum",),
    }
)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("cpus", "cpu"),
        ("CPU", "cpu"),
        ("cpuu", "cpu"),
        ("pcu", "cpu"),
        ("vCPUs", "cpu"),
        ("core", "cpu"),
        ("gpus", "gpu"),
        ("Gpu", "gpu"),
        ("mem", "memory"),
        ("RAM", "memory"),
        ("memroy", "memory"),
        ("memori", "memory"),
        ("useable", "usable"),
        ("usabel", "usable"),
        ("volumesize", "volumeSize"),
        ("volume_size", "volumeSize"),
        ("volume-sizes", "volumeSize"),
        ("disksize", "volumeSize"),
        ("volSize", None),
        ("autoscalerMax", "autoScalerMax"),
        ("autoScaleMax", "autoScalerMax"),
        ("autoScalingMax", None),
        ("autoScalrMx", "autoScalerMax"),
        ("autoScalerMux", "autoScalerMax"),
        ("maximum", "autoScalerMax"),
        ("AutoScalerMinn", "autoScalerMin"),
        # Other words.
        ("tpu", None),
        ("npu", None),
        ("zones", None),
        ("maxSurge", None),
        ("maxUnavailable", None),
        ("labels", None),
        ("annotations", None),
        ("taints", None),
        ("machineImage", None),
        ("architecture", None),
        ("storage", None),
        ("", None),
        ("-", None),
        ("s", None),
        ("x" * 100_000, None),
    ],
)
def test_a_name_is_taken_for_the_field_that_it_is_close_to(name: str, field: str | None) -> None:
    assert MEANT(name) == field


def test_long_names_that_differ_everywhere_cost_little() -> None:
    """Not a time: the recursion ends at two slips, whatever the lengths."""
    meant = meaning({"a" * 60: ()})

    assert meant("b" * 60) is None


ITEM = Struct(
    fields={"name": String(), "size": String()},
    required=("name",),
    preserve_unknown=True,
    aliases={"size": ("extent",)},
)
SCHEMA = Schema(
    Struct(
        fields={
            "items": ListOf(items=ITEM, semantics=ListType.MAP, keys=("name",)),
            "other": Struct(fields={"size": String()}, preserve_unknown=True),
        }
    )
)


def test_near_misses_are_found_by_path_where_a_struct_has_aliases() -> None:
    obj = {
        "items": [{"name": "a", "sizes": "1"}, {"name": "b", "extent": "1", "Size": "1", "x": 1}],
        "other": {"sizes": "1"},
    }

    found = SCHEMA.near_misses(obj)

    assert [(miss.path, miss.meant) for miss in found] == [
        ("items[0].sizes", "size"),
        ("items[1].Size", "size"),
        ("items[1].extent", "size"),
    ]


def test_a_near_miss_is_the_same_wherever_its_item_stands() -> None:
    first, second = {"name": "a", "sizes": "1"}, {"name": "b", "sizes": "1"}
    moved = SCHEMA.near_misses({"items": [second]})
    both = SCHEMA.near_misses({"items": [first, second]})
    changed = SCHEMA.near_misses({"items": [{**second, "sizes": "2"}]})

    assert moved[0].identity() == both[1].identity()
    assert moved[0].identity() != both[0].identity()
    assert moved[0].identity() != changed[0].identity()


@pytest.mark.parametrize("obj", [None, 1, [], {"items": 1}, {"items": [1, None]}, {"items": {}}])
def test_what_has_another_type_has_no_near_misses(obj: object) -> None:
    assert SCHEMA.near_misses(obj) == []


def test_a_missing_field_is_told_together_with_what_was_written_instead() -> None:
    struct = Struct(
        fields={"cpu": String()}, required=("cpu",), preserve_unknown=True, aliases={"cpu": ()}
    )

    schema = Schema(Struct(fields={"spec": struct}))

    [plain] = schema.validate({"spec": {"x": 1}})
    [fault] = schema.validate({"spec": {"x": 1, "cpus": "2"}})

    assert str(plain) == "spec.cpu: Required value"
    assert str(fault) == "spec.cpu: Required value: cpus is not known here, cpu is what counts"


def test_aliases_are_of_declared_fields_of_a_struct_that_keeps_others() -> None:
    with pytest.raises(ValueError, match="aliases of what is not declared"):
        Struct(fields={}, preserve_unknown=True, aliases={"a": ()})
    with pytest.raises(ValueError, match="told anyway"):
        Struct(fields={"a": String()}, aliases={"a": ()})
