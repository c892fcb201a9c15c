"""The OpenAPI documents of a group's version, made from the declarations of its kinds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apis.meta.openapi import metatypes, operations, parameters
from apis.meta.openapi.operations import (
    JSON,
    YAML,
    Operation,
    Subresource,
    definition_name,
)
from apis.meta.openapi.schemas import META, V2, V3, Dialect, Ref, preserves_unknown, schema_of
from apis.meta.resource import Resource
from apis.meta.structure import ListOf, Struct
from apis.meta.transaction import Object

_GVK: Final = "x-kubernetes-group-version-kind"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_TITLE: Final = "quotaapi"

_SHARED_KINDS: Final = ("DeleteOptions", "WatchEvent")
"""Of these every group has its own, by the same definition."""


@dataclass(frozen=True, slots=True)
class Described:
    """What the documents are about. `version` is the server's; `patch_types`, the media types of
    patches; `subresources`, by plural of the kind, are those besides `status`."""

    resources: Sequence[Resource]
    version: str
    patch_types: Sequence[str]
    subresources: Mapping[str, Sequence[Subresource]] = field(default_factory=dict)


def version_2(described: Described) -> Object:
    """Swagger.

    kube-apiserver merges it into the cluster's one document. There the types that all kinds share
    have core's names, so that core's stand in for equal ones and others are renamed; they say
    nothing of their group, version and kind, which would be a second claim to core's.
    """
    paths: Object = {}
    for operation in _operations(described):
        paths.setdefault(operation.path, {})[operation.method] = _swagger_operation(operation)
    return {
        "swagger": "2.0",
        "info": {"title": _TITLE, "version": described.version},
        "paths": paths,
        "definitions": _reachable(paths, _schemas(described, V2)),
    }


def version_3(described: Described) -> Object:
    """The document of the resources' group and version."""
    paths: Object = {}
    for operation in _operations(described):
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    schemas = _schemas(described, V3)
    schemas[f"{META}Status"][_GVK] = [{"group": "", "version": "v1", "kind": "Status"}]
    group_versions = sorted(
        {(resource.group, resource.version) for resource in described.resources}
    )
    for kind in _SHARED_KINDS:
        schemas[f"{META}{kind}"][_GVK] = [
            {"group": group, "version": version, "kind": kind} for group, version in group_versions
        ]
    return {
        "openapi": "3.0.0",
        "info": {"title": _TITLE, "version": described.version},
        "paths": paths,
        "components": {"schemas": schemas},
    }


# Schemas


def _schemas(described: Described, dialect: Dialect) -> dict[str, Object]:
    schemas = metatypes.definitions(dialect)
    for resource in described.resources:
        for each in described.subresources.get(resource.plural, ()):
            name = definition_name(resource, each.kind)
            schemas[name] = schema_of(_with_metadata(each.declaration), dialect)
        schemas[definition_name(resource, resource.kind)] = _kind(resource, dialect)
        schemas[definition_name(resource, resource.list_kind)] = _list(resource, dialect)
    return dict(sorted(schemas.items()))


def _reachable(paths: Object, definitions: Mapping[str, Object]) -> dict[str, Object]:
    """The definitions that paths refer to, directly or not."""
    used: dict[str, Object] = {}
    waiting = list(_references(paths))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = definitions[name]
            waiting.extend(_references(definitions[name]))
    return dict(sorted(used.items()))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for child in value:
            yield from _references(child)
    elif isinstance(value, dict):
        for key, child in value.items():
            if key == "$ref":
                yield child.rpartition("/")[2]
            else:
                yield from _references(child)


def _kind(resource: Resource, dialect: Dialect) -> Object:
    whole = _with_metadata(resource.schema.declaration)
    return _identified(schema_of(whole, dialect), resource, resource.kind)


def _with_metadata(declared: Struct) -> Struct:
    return Struct(
        doc=declared.doc,
        fields={
            "apiVersion": metatypes.API_VERSION,
            "kind": metatypes.KIND,
            "metadata": Ref(doc="What every object has.", name=f"{META}ObjectMeta"),
            **declared.fields,
        },
        required=declared.required,
        preserve_unknown=declared.preserve_unknown,
    )


def _list(resource: Resource, dialect: Dialect) -> Object:
    item = Ref(name=definition_name(resource, resource.kind))
    whole = Struct(
        doc=f"A list of {resource.plural}.",
        fields={
            "apiVersion": metatypes.API_VERSION,
            "kind": metatypes.KIND,
            "metadata": Ref(doc="What every list has.", name=f"{META}ListMeta"),
            "items": ListOf(doc=f"The {resource.plural}.", items=item),
        },
        required=("items",),
    )
    said = schema_of(whole, dialect)
    del said["properties"]["items"]["x-kubernetes-list-type"]  # of answers; nothing merges it
    return _identified(said, resource, resource.list_kind)


def _identified(said: Object, resource: Resource, kind: str) -> Object:
    said[_GVK] = [_gvk(resource.group, resource.version, kind)]
    if resource.selectable_fields:
        said["x-kubernetes-selectable-fields"] = [
            {"fieldPath": path} for path in resource.selectable_fields
        ]
    return said


def _gvk(group: str, version: str, kind: str) -> Object:
    return {"group": group, "version": version, "kind": kind}


# Operations


def _operations(described: Described) -> Iterator[Operation]:
    resources = described.resources
    for group, version in sorted({(each.group, each.version) for each in resources}):
        yield Operation(
            path=f"/apis/{group}/",
            method="get",
            action="",
            id=f"get{operations.group_words(group)}APIGroup",
            description="The versions of the group.",
            answers={200: f"{META}APIGroup"},
        )
        yield Operation(
            path=f"/apis/{group}/{version}/",
            method="get",
            action="",
            id=f"get{operations.group_words(group)}{version.capitalize()}APIResources",
            description="The resources of the version.",
            answers={200: f"{META}APIResourceList"},
        )
    for resource in resources:
        yield from operations.of(resource, described.patch_types)
        for each in described.subresources.get(resource.plural, ()):
            yield operations.below(resource, each)


def _head(operation: Operation) -> Object:
    """What both versions say alike."""
    said: Object = {"description": operation.description, "operationId": operation.id}
    resource = operation.resource
    if resource is not None:
        words = operations.group_words(resource.group)
        said["tags"] = [f"{words[:1].lower()}{words[1:]}_{resource.version}"]
        said["x-kubernetes-action"] = operation.action
        said[_GVK] = _gvk(*operation.identity)
    return said


def _parameters(operation: Operation, dialect: Dialect) -> list[Object]:
    within = not dialect.v2
    listed = [
        parameters.described(name, parameters.PATH, place="path", schema_within=within)
        for name in operation.path_parameters
    ]
    if not operation.action:
        return listed
    query = {**parameters.PRETTY, **parameters.QUERY[operation.action]}
    return listed + [
        parameters.described(name, query, place="query", schema_within=within) for name in query
    ]


def _swagger_operation(operation: Operation) -> Object:
    listed = _parameters(operation, V2)
    if operation.body:
        body: Object = {"name": "body", "in": "body", "schema": V2.ref(operation.body)}
        if operation.body_required:
            body["required"] = True
        listed.append(body)
    said = _head(operation) | {
        "consumes": list(_swagger_consumes(operation)),
        "produces": list(operation.produces),
        "schemes": ["https"],
        "responses": {
            code: {"description": words, "schema": V2.ref(name)}
            for code, words, name in _answers(operation)
        },
    }
    return said | {"parameters": listed} if listed else said


def _swagger_consumes(operation: Operation) -> tuple[str, ...]:
    """kubectl computes a strategic merge patch from the document that offers one.

    Version 2 hides what is declared beside preserved fields, so its lists have no merge keys: a
    patch made from it would replace a list that the server merges. Such kinds offer it in
    version 3 alone, which kubectl prefers from 1.29 on.
    """
    resource = operation.resource
    if resource is None or not preserves_unknown(resource.schema.declaration):
        return operation.consumes
    return tuple(each for each in operation.consumes if each != _STRATEGIC)


def _operation(operation: Operation) -> Object:
    said = _head(operation)
    if listed := _parameters(operation, V3):
        said["parameters"] = listed
    if operation.body:
        said["requestBody"] = {"content": _content(operation.consumes, operation.body)}
        if operation.body_required:
            said["requestBody"]["required"] = True
    said["responses"] = {
        code: {
            "description": words,
            "content": _content((JSON, YAML) if code == "default" else operation.produces, name),
        }
        for code, words, name in _answers(operation)
    }
    return said


def _content(media_types: Iterable[str], name: str) -> Object:
    return {media_type: {"schema": V3.ref(name)} for media_type in media_types}


_WORDS: Final = {200: "Done.", 201: "Created.", 202: "Accepted; it goes on."}


def _answers(operation: Operation) -> Iterator[tuple[str, str, str]]:
    """(code, in words, definition)."""
    for code, name in operation.answers.items():
        yield str(code), _WORDS[code], name
    yield "401", "Who asks is not known.", f"{META}Status"
    yield "default", "It failed; the status says why.", f"{META}Status"
