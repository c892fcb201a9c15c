"""The documents of the server's kinds: complete, resolvable, and nothing that breaks others'."""

from collections.abc import Iterator
from typing import Any

import pytest

from apis.garden.v1beta1.register import QUOTA, QUOTA_USAGE, RESOURCES, SHOOT
from apis.meta.openapi import documents
from apis.meta.openapi.documents import Described
from apis.meta.openapi.operations import Subresource
from apis.meta.structure import Integer, Struct
from apis.meta.transaction import Object

PATCH_TYPES = ("application/merge-patch+json", "application/strategic-merge-patch+json")
GROUP_PATH = "/apis/garden.sapcloud.io/v1beta1"
GVK = "x-kubernetes-group-version-kind"
PREFIX = "io.sapcloud.garden.v1beta1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."

BELOW = Subresource(
    "scale",
    "autoscaling",
    "v1",
    "Scale",
    Struct(doc="A size.", fields={"size": Integer(doc="It.")}),
)
DESCRIBED = Described(RESOURCES, "1", PATCH_TYPES, {"shoots": [BELOW]})

V2 = documents.version_2(DESCRIBED)
V3 = documents.version_3(DESCRIBED)

VERBS = {
    "list": "list", "get": "get", "post": "create", "put": "update", "patch": "patch",
    "delete": "delete", "deletecollection": "deletecollection",
}  # fmt: skip


def definitions(document: Object) -> dict[str, Object]:
    found: dict[str, Object] = document.get("definitions") or document["components"]["schemas"]
    return found


def operations(document: Object) -> list[tuple[str, str, Object]]:
    return [
        (path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


def walk(value: Any) -> Iterator[Object]:
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from walk(child)
    elif isinstance(value, list):
        for child in value:
            yield from walk(child)


both = pytest.mark.parametrize("document", [V2, V3], ids=["v2", "v3"])


@both
def test_every_reference_leads_somewhere(document) -> None:
    known = definitions(document)
    names = {node["$ref"].rpartition("/")[2] for node in walk(document) if "$ref" in node}

    assert names <= set(known)


@pytest.mark.parametrize(("document", "more"), [(V2, set()), (V3, {f"{META}WatchEvent"})])
def test_nothing_is_defined_that_nobody_refers_to_but_what_watches_send(document, more) -> None:
    names = {node["$ref"].rpartition("/")[2] for node in walk(document) if "$ref" in node}

    assert set(definitions(document)) - names == more


@both
def test_every_field_of_every_definition_is_described(document) -> None:
    silent = [
        f"{name}.{field}"
        for name, schema in definitions(document).items()
        for node in walk(schema)
        for field, child in node.get("properties", {}).items()
        if isinstance(child, dict) and not child.get("description")
    ]

    assert silent == []


@both
def test_ids_of_operations_are_unique(document) -> None:
    ids = [operation["operationId"] for _path, _method, operation in operations(document)]

    assert len(ids) == len(set(ids))
    assert "listGardenSapcloudIoV1beta1QuotaForAllNamespaces" in ids
    assert "patchGardenSapcloudIoV1beta1NamespacedShootStatus" in ids


@both
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_a_kind_has_exactly_the_verbs_that_discovery_lists(document, resource) -> None:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    found = {
        VERBS[operation["x-kubernetes-action"]]
        for path, _method, operation in operations(document)
        if operation.get(GVK) == kind and not path.endswith("/status")
    }

    assert found | {"watch"} == set(resource.verbs)


@both
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_a_kind_and_its_list_carry_their_identity(document, resource) -> None:
    known = definitions(document)

    for kind in (resource.kind, resource.list_kind):
        identity = {"group": resource.group, "version": resource.version, "kind": kind}
        assert known[PREFIX + kind][GVK] == [identity]


def test_a_status_is_read_and_written_where_there_is_one() -> None:
    with_status = {path for path in V3["paths"] if path.endswith("/status")}

    assert with_status == {
        f"{GROUP_PATH}/namespaces/{{namespace}}/{plural}/{{name}}/status"
        for plural in (QUOTA.plural, SHOOT.plural)
    }
    assert set(V3["paths"][min(with_status)]) == {"get", "put", "patch"}


@both
def test_what_can_be_read_below_an_object_is_told_with_its_own_kind(document) -> None:
    path = f"{GROUP_PATH}/namespaces/{{namespace}}/shoots/{{name}}/scale"

    (operation,) = document["paths"][path].values()
    assert operation["operationId"] == "readGardenSapcloudIoV1beta1NamespacedShootScale"
    assert operation[GVK] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert {"metadata", "size"} <= set(definitions(document)[f"{PREFIX}Scale"]["properties"])


def test_a_patch_offers_its_media_types_and_says_what_kubectl_looks_for() -> None:
    patch = V3["paths"][f"{GROUP_PATH}/namespaces/{{namespace}}/quotas/{{name}}"]["patch"]

    assert tuple(patch["requestBody"]["content"]) == PATCH_TYPES
    query = {each["name"] for each in patch["parameters"] if each["in"] == "query"}
    assert {"fieldValidation", "dryRun", "force", "fieldManager"} <= query


@pytest.mark.parametrize(("plural", "in_version_2"), [("quotas", True), ("shoots", False)])
def test_a_strategic_patch_is_offered_where_the_document_has_the_merge_keys(
    plural, in_version_2
) -> None:
    strategic = "application/strategic-merge-patch+json"
    path = f"{GROUP_PATH}/namespaces/{{namespace}}/{plural}/{{name}}"

    assert strategic in V3["paths"][path]["patch"]["requestBody"]["content"]
    assert (strategic in V2["paths"][path]["patch"]["consumes"]) is in_version_2


def test_selectable_fields_are_told() -> None:
    schema = definitions(V3)[f"{PREFIX}QuotaUsage"]

    assert schema["x-kubernetes-selectable-fields"] == [
        {"fieldPath": path} for path in QUOTA_USAGE.selectable_fields
    ]


def test_version_2_claims_no_kind_of_the_core() -> None:
    groups = {
        identity["group"] for schema in definitions(V2).values() for identity in schema.get(GVK, [])
    }

    assert groups == {"garden.sapcloud.io"}


def test_version_2_keeps_to_the_paths_of_its_group() -> None:
    """kube-apiserver takes over what lies below the group's version, and drops the rest."""
    assert all(path.startswith("/apis/garden.sapcloud.io/") for path in V2["paths"])


def test_version_2_has_no_construct_of_version_3() -> None:
    unknown = {"allOf", "anyOf", "oneOf", "not", "nullable", "content", "requestBody"}

    assert [node for node in walk(V2) if unknown & set(node)] == []
