"""A field is declared once: everything that is known of a kind follows from its declaration."""

from dataclasses import replace
from typing import Any

import pytest

from apis.garden.v1beta1.register import QUOTA
from apis.meta.codec import decode_json
from apis.meta.errors import StatusError
from apis.meta.openapi import documents
from apis.meta.openapi.documents import Described
from apis.meta.resource import Resource
from apis.meta.schema import Schema
from apis.meta.strategicmerge import parse_strategic_merge_patch
from apis.meta.structure import Integer, ListOf, ListType, Struct
from apis.meta.transaction import Object
from quotaapi.registry.options import Written
from tests.builders import a_quota
from tests.fakes.registry_rig import Rig

NAME = "io.sapcloud.garden.v1beta1.Quota"
GREEN = Integer(doc="How green it is.", minimum=0, maximum=255, default=7)
TAGS = ListOf(
    doc="What it is called besides.",
    items=Integer(doc="a number"),
    semantics=ListType.SET,
)
EXPECTED = {
    "description": "How green it is.",
    "type": "integer",
    "format": "int64",
    "minimum": 0,
    "maximum": 255,
}


def a_kind_with_more_fields() -> Resource:
    declared = QUOTA.schema.declaration
    spec = declared.fields["spec"]
    assert isinstance(spec, Struct)
    larger = replace(spec, fields={**spec.fields, "green": GREEN, "tags": TAGS})
    schema = Schema(replace(declared, fields={**declared.fields, "spec": larger}))
    return replace(QUOTA, schema=schema)


def with_spec(**more: Any) -> Object:
    obj = a_quota(name="a")
    obj["spec"] |= more
    return obj


def shown(written: Written) -> Object:
    obj: Object = decode_json(written.json()).value
    return obj


async def test_a_new_field_is_kept_where_an_unknown_one_is_pruned() -> None:
    written = await Rig(a_kind_with_more_fields()).create(with_spec(green=3, greem=3))

    spec = shown(written)["spec"]
    assert (spec["green"], "greem" in spec) == (3, False)
    assert written.warnings == ('unknown field "spec.greem"',)


async def test_a_new_field_has_its_default() -> None:
    assert shown(await Rig(a_kind_with_more_fields()).create(with_spec()))["spec"]["green"] == 7


async def test_a_new_field_is_validated() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig(a_kind_with_more_fields()).create(with_spec(green=256, tags=[1, 1]))

    assert caught.value.details is not None
    causes = caught.value.details["causes"]
    assert [cause["field"] for cause in causes] == ["spec.green", "spec.tags[1]"]


async def test_a_new_field_is_owned_and_merged_as_it_is_declared() -> None:
    rig = Rig(a_kind_with_more_fields())
    await rig.apply(with_spec(green=3, tags=[1]), "alice")

    applied = shown(await rig.apply(with_spec(tags=[2]), "bob"))

    assert applied["spec"]["tags"] == [1, 2]
    owners = {
        each["manager"]: each["fieldsV1"]["f:spec"] for each in applied["metadata"]["managedFields"]
    }
    assert owners["alice"]["f:green"] == {}
    assert owners["bob"]["f:tags"] == {"v:2": {}}


def test_a_new_field_is_merged_strategically_as_it_is_declared() -> None:
    patch = parse_strategic_merge_patch(b'{"spec":{"tags":[2]}}', a_kind_with_more_fields())

    assert sorted(patch.apply(with_spec(tags=[1]))["spec"]["tags"]) == [1, 2]


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (documents.version_2, ("definitions",)),
        (documents.version_3, ("components", "schemas")),
    ],
)
def test_a_new_field_is_explained(make: Any, path: tuple[str, ...]) -> None:
    """By the documents from which `kubectl explain` is made."""
    found = make(Described([a_kind_with_more_fields()], "1", ()))
    for step in (*path, NAME, "properties", "spec", "properties"):
        found = found[step]

    assert found["green"] == {**EXPECTED, "default": 7}
    assert found["tags"]["x-kubernetes-list-type"] == "set"
