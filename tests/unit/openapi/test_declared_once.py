"""What is declared once stays once: a field that is added to a declaration is in every document."""

from dataclasses import replace

from apis.garden.v1beta1.register import QUOTA
from apis.meta.openapi import documents
from apis.meta.openapi.documents import Described
from apis.meta.resource import Resource
from apis.meta.schema import Schema
from apis.meta.structure import Integer, Struct

NAME = "io.sapcloud.garden.v1beta1.Quota"
COLOUR = Integer(doc="How green it is.", minimum=0, maximum=255)
EXPECTED = {
    "description": "How green it is.",
    "type": "integer",
    "format": "int64",
    "minimum": 0,
    "maximum": 255,
}


def quota_with_a_colour() -> Resource:
    declared = QUOTA.schema.declaration
    spec = declared.fields["spec"]
    assert isinstance(spec, Struct)
    coloured = replace(spec, fields={**spec.fields, "green": COLOUR})
    schema = Schema(replace(declared, fields={**declared.fields, "spec": coloured}))
    return replace(QUOTA, schema=schema)


def test_a_new_field_is_in_version_2() -> None:
    document = documents.version_2(Described([quota_with_a_colour()], "1", ()))

    spec = document["definitions"][NAME]["properties"]["spec"]
    assert spec["properties"]["green"] == EXPECTED


def test_a_new_field_is_in_version_3() -> None:
    document = documents.version_3(Described([quota_with_a_colour()], "1", ()))

    spec = document["components"]["schemas"][NAME]["properties"]["spec"]
    assert spec["properties"]["green"] == EXPECTED
