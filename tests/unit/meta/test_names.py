from typing import Any

import orjson
import pytest

from apis.meta import names
from apis.meta.fields import MAX_SHOWN
from apis.meta.names import validate_metadata
from apis.meta.structure import MAX_FAULTS
from tests.shared_material import shared

Metadata = dict[str, Any]

STEPS = {"create-bad-names": range(6), "metadata-validation": range(9)}


def faults(**metadata: Any) -> list[str]:
    given = {"name": "a", "namespace": "n", **metadata}
    return [str(error) for error in validate_metadata(given, namespaced=True)]


def scenario_metadata(scenario: str) -> list[Metadata]:
    """What the recorded scenarios send."""
    if scenario == "create-bad-names":
        return [{"name": name} for name in ("UPPER", "a_b", "", "-x", "x" * 254)] + [{}]
    owner = {"apiVersion": "v1", "kind": "Pod"}
    two = [
        {**owner, "name": "p", "uid": "u1", "controller": True},
        {**owner, "name": "q", "uid": "u2", "controller": True},
    ]
    return [
        {"name": "a", "labels": {"-bad": "x"}},
        {"name": "a", "labels": {"ok": "bad value"}},
        {"name": "a", "labels": {"x" * 64: "v"}},
        {"name": "a", "annotations": {"bad key": "x"}},
        {"name": "a", "annotations": {"ok": "any value {}"}},
        {"name": "b", "ownerReferences": [{**owner, "name": "p"}]},
        {"name": "b", "ownerReferences": two},
        {"name": "c", "finalizers": ["nodomain"]},
        {"name": "d", "finalizers": ["x.y/z"]},
    ]


@pytest.mark.parametrize("scenario", STEPS)
def test_metadata_is_refused_as_recorded(scenario: str) -> None:
    golden = orjson.loads(shared("conformance/golden.json").read_bytes())[scenario]
    for metadata, step in zip(scenario_metadata(scenario), golden, strict=False):
        recorded = step["body"].get("details", {}).get("causes", [])
        found = validate_metadata({"namespace": "n", **metadata}, namespaced=True)
        causes = [{"field": e.field, "message": e.message, "reason": e.type.value} for e in found]
        assert causes == recorded, metadata


def test_good_metadata_has_no_faults() -> None:
    assert not faults(
        generateName="a-",
        labels={"app": "", "example.com/Tier_1.a": "x-1"},
        annotations={"Example.com/UPPER": "any\ntext", "x": "ü" * 1000},
        finalizers=["example.com/hold", "orphan"],
        ownerReferences=[{"apiVersion": "a/v1", "kind": "K", "name": "n", "uid": "u"}],
    )


@pytest.mark.parametrize("name", ["a", "a.b-c.1", "0", "x" * 253])
def test_good_names(name: str) -> None:
    assert not names.dns1123_subdomain(name)


@pytest.mark.parametrize(
    "name", ["", "a.", ".a", "a..b", "ä", "a\n", "a/b", "A", "\u0430", "x" * 254, "\uff11"]
)
def test_bad_names(name: str) -> None:
    assert names.dns1123_subdomain(name)


def test_a_label_has_no_dots() -> None:
    assert names.dns1123_label("a.b") == ["must not contain dots"]
    assert names.dns1123_label("x" * 64) == ["must be no more than 63 characters"]
    assert not names.dns1123_label("x" * 63)


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("", "name part must be non-empty"),
        ("/a", "prefix part must be non-empty"),
        ("a/", "name part must be non-empty"),
        ("UP/a", "prefix part a lowercase RFC 1123 subdomain"),
        ("a/b/c", "a valid label key must consist"),
        ("ä", "name part must consist"),
        (f"{'x' * 254}/a", "prefix part must be no more than 253 characters"),
    ],
)
def test_bad_label_keys(key: str, complaint: str) -> None:
    assert names.label_key(key)[0].startswith(complaint)


def test_label_values_are_bounded_in_bytes() -> None:
    assert not names.label_value("x" * 63)
    assert names.label_value("x" * 64) == ["must be no more than 63 bytes"]
    assert names.label_value("ü" * 40)[0] == "must be no more than 63 bytes"


def test_annotations_are_bounded_together() -> None:
    half = "ü" * (64 * 1024)
    assert not faults(annotations={"a": half, "b": half[:-1]})
    assert faults(annotations={"a": half, "b": half}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_a_generated_names_prefix_may_end_in_a_dash() -> None:
    assert not faults(generateName="abc-")
    assert faults(generateName="Abc-")[0].startswith('metadata.generateName: Invalid value: "Abc-"')


def test_a_namespaced_object_needs_a_namespace() -> None:
    errors = validate_metadata({"name": "a"}, namespaced=True)
    assert [str(e) for e in errors] == ["metadata.namespace: Required value"]


def test_a_bad_namespace_is_refused() -> None:
    assert faults(namespace="a.b") == [
        'metadata.namespace: Invalid value: "a.b": must not contain dots'
    ]


def test_a_cluster_scoped_object_has_none() -> None:
    errors = validate_metadata({"name": "a", "namespace": "n"}, namespaced=False)
    assert [str(e) for e in errors] == ["metadata.namespace: Forbidden: not allowed on this type"]
    assert not validate_metadata({"name": "a"}, namespaced=False)


def test_an_owner_needs_a_version_kind_and_name() -> None:
    assert faults(ownerReferences=[{"apiVersion": "a/", "uid": "u"}]) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
    ]


def test_an_event_owns_nothing() -> None:
    owner = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}
    (fault,) = faults(ownerReferences=[owner])
    assert fault.endswith("/v1, Kind=Event is disallowed from being an owner")


def test_finalizers_that_exclude_each_other_are_refused() -> None:
    (fault,) = faults(finalizers=["orphan", "foregroundDeletion"])
    assert fault == (
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
        "finalizer orphan and foregroundDeletion cannot be both set"
    )


def test_all_faults_are_reported_at_once() -> None:
    found = faults(name="A", labels={"-": "-"}, annotations={"/": ""}, finalizers=[""])
    assert len(found) >= 5


@pytest.mark.timeout(10)
def test_of_thousands_of_owners_that_all_control_some_are_told_and_shown_in_part() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
    owners = [{**owner, "name": f"p{n}", "uid": f"u{n}"} for n in range(5000)]

    found = faults(ownerReferences=owners)

    assert len(found) == MAX_FAULTS
    assert max(map(len, found)) < 2 * MAX_SHOWN
