"""Tables and ages, as kubectl and kube-apiserver print them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from apis.garden.v1beta1.register import QUOTA, RESOURCES
from apis.meta import codec, table
from apis.meta.transaction import NO_HEADER, Header, Object
from tests.builders import a_quota, an_object
from tests.shared_material import shared

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    body: Object = field(default_factory=lambda: created(a_quota(name="a", scope="project")))
    header: Header = NO_HEADER

    def object(self) -> Object:
        return self.body


def created(obj: Object) -> Object:
    obj["metadata"] |= {"creationTimestamp": "2030-01-01T00:00:00Z", "resourceVersion": "7"}
    return obj


def render(include: table.IncludeObject) -> Object:
    return table.table(QUOTA, [Row()], now=NOW, metadata={"resourceVersion": "7"}, include=include)


def test_a_table_has_the_shape_that_kube_apiserver_gives() -> None:
    golden = codec.decode_json(shared("conformance/golden.json").read_bytes()).value
    recorded = golden["table"][1]["body"]
    found = render(table.IncludeObject.NONE)

    assert found.keys() == recorded.keys()
    assert (found["kind"], found["apiVersion"]) == (recorded["kind"], recorded["apiVersion"])
    assert found["metadata"].keys() == recorded["metadata"].keys()
    assert found["columnDefinitions"][0] == recorded["columnDefinitions"][0]
    assert found["rows"][0].keys() == recorded["rows"][0].keys()
    definitions = {d["name"]: d for d in found["columnDefinitions"]}
    for column in recorded["columnDefinitions"]:
        assert definitions[column["name"]] | {"description": ""} == column | {"description": ""}


def test_a_row_has_a_cell_per_column() -> None:
    found = render(table.IncludeObject.NONE)

    assert [column["name"] for column in found["columnDefinitions"]] == [
        "Name",
        "Scope",
        "Cluster Lifetime",
        "Used",
        "Age",
    ]
    assert found["rows"] == [{"cells": ["a", "project", None, "cpu: -/20", "0s"], "object": None}]


def test_a_row_carries_as_much_of_its_object_as_was_asked_for() -> None:
    [by_metadata] = render(table.IncludeObject.METADATA)["rows"]
    [whole] = render(table.IncludeObject.OBJECT)["rows"]

    assert by_metadata["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": Row().body["metadata"],
    }
    assert whole["object"] == Row().body


def test_every_kind_has_a_row_even_for_an_object_without_content() -> None:
    for kind in RESOURCES:
        cells = table.cells(kind, an_object(kind.kind, name="a"), NO_HEADER, now=NOW)

        assert cells[0] == "a"
        assert cells[-1] == "<unknown>"
        assert len(cells) == len(table.columns(kind))


DAY = 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (5 * 3600 + 1800, "5h30m"),
        (8 * 3600 + 1800, "8h"),
        (47 * 3600, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 7200, "2d2h"),
        (8 * DAY + 7200, "8d"),
        (400 * DAY, "400d"),
        (730 * DAY, "2y"),
        (731 * DAY, "2y1d"),
        (8 * 365 * DAY + 5 * DAY, "8y"),
    ],
)
def test_an_age_is_as_precise_as_kubectl_prints_it(seconds: float, text: str) -> None:
    assert table.human_duration(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize("value", [None, "", "noon", 5])
def test_an_age_since_no_time_is_unknown(value: object) -> None:
    assert table.age(value, NOW) == "<unknown>"
