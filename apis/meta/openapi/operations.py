"""What can be requested of a kind: path -> method -> operation, before any version of OpenAPI."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from apis.meta.openapi.parameters import PATH
from apis.meta.openapi.schemas import META
from apis.meta.resource import Resource
from apis.meta.structure import Struct

JSON: Final = "application/json"
YAML: Final = "application/yaml"
STREAM: Final = "application/json;stream=watch"

_METHODS: Final = {
    "list": "get",
    "get": "get",
    "post": "post",
    "put": "put",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "delete",
}
_VERBS: Final = {
    "list": "list",
    "get": "get",
    "post": "create",
    "put": "update",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "deletecollection",
}
"""Action, as documents name it -> verb, as discovery names it."""
_NAMES: Final = {
    "list": "list",
    "get": "read",
    "post": "create",
    "put": "replace",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "deleteCollection",
}
_WORDS: Final = {
    "list": "List or watch {plural}.",
    "get": "Read one of the {plural}.",
    "post": "Create one of the {plural}.",
    "put": "Replace one of the {plural}.",
    "patch": "Change parts of one of the {plural}.",
    "delete": "Delete one of the {plural}.",
    "deletecollection": "Delete all {plural} that are selected.",
}


@dataclass(frozen=True, slots=True)
class Subresource:
    """What can be read below an object of a kind, besides its status: `declaration`, which clients
    know as `kind` of `group` and `version`."""

    name: str
    group: str
    version: str
    kind: str
    declaration: Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`body` and the values of `answers` (HTTP status -> definition) are names of definitions."""

    path: str
    method: str
    action: str
    id: str
    description: str
    answers: dict[int, str]
    produces: tuple[str, ...] = (JSON, YAML)
    consumes: tuple[str, ...] = (JSON, YAML)
    body: str = ""
    body_required: bool = True
    resource: Resource | None = None
    subresource: Subresource | None = None

    @property
    def identity(self) -> tuple[str, str, str]:
        """Group, version and kind of what it is about."""
        about = self.subresource or self.resource
        return (about.group, about.version, about.kind) if about else ("", "", "")

    @property
    def path_parameters(self) -> list[str]:
        return [name for name in PATH if f"{{{name}}}" in self.path]


def definition_name(resource: Resource, kind: str) -> str:
    """`io.sapcloud.garden.v1beta1.Quota`: the group backwards, as for built-in kinds."""
    reverse = ".".join(reversed(resource.group.split(".")))
    return f"{reverse}.{resource.version}.{kind}"


def group_words(group: str) -> str:
    """`GardenSapcloudIo`, as ids of operations name the group."""
    return "".join(part.capitalize() for part in group.replace("-", ".").split("."))


def of(resource: Resource, patch_types: Sequence[str]) -> Iterator[Operation]:
    """Every verb of every path of the kind; `patch_types` are the media types of patches."""
    root = f"/apis/{resource.api_version}"
    collection = resource.plural
    scope = ""
    if resource.namespaced:
        yield _operation(resource, "list", f"{root}/{collection}", words="{}ForAllNamespaces")
        collection, scope = f"namespaces/{{namespace}}/{collection}", "Namespaced"
    patches = tuple(patch_types)
    for action in ("list", "post", "deletecollection"):
        if _VERBS[action] in resource.verbs:
            yield _operation(resource, action, f"{root}/{collection}", words=f"{scope}{{}}")
    for action in ("get", "put", "patch", "delete"):
        if _VERBS[action] in resource.verbs:
            path = f"{root}/{collection}/{{name}}"
            yield _operation(resource, action, path, words=f"{scope}{{}}", patches=patches)
    for action in ("get", "put", "patch") if resource.has_status else ():
        if _VERBS[action] in resource.verbs:
            path = f"{root}/{collection}/{{name}}/status"
            yield _operation(resource, action, path, words=f"{scope}{{}}Status", patches=patches)


def below(resource: Resource, subresource: Subresource) -> Operation:
    """Its one operation: to read it."""
    scope = "namespaces/{namespace}/" if resource.namespaced else ""
    word = f"{'Namespaced' if scope else ''}{resource.kind}{subresource.name.capitalize()}"
    return Operation(
        path=f"/apis/{resource.api_version}/{scope}{resource.plural}/{{name}}/{subresource.name}",
        method="get",
        action="get",
        id=f"read{_prefix(resource)}{word}",
        description=f"Read the {subresource.name} of one of the {resource.plural}.",
        answers={200: definition_name(resource, subresource.kind)},
        resource=resource,
        subresource=subresource,
    )


def _prefix(resource: Resource) -> str:
    return f"{group_words(resource.group)}{resource.version.capitalize()}"


def _operation(
    resource: Resource,
    action: str,
    path: str,
    *,
    words: str,
    patches: tuple[str, ...] = (),
) -> Operation:
    kind = definition_name(resource, resource.kind)
    body = {
        "post": kind,
        "put": kind,
        "patch": f"{META}Patch",
        "delete": f"{META}DeleteOptions",
        "deletecollection": f"{META}DeleteOptions",
    }.get(action, "")
    return Operation(
        path=path,
        method=_METHODS[action],
        action=action,
        id=f"{_NAMES[action]}{_prefix(resource)}{words.format(resource.kind)}",
        description=_describe(resource, action, path),
        answers=_answers(resource, action),
        produces=(JSON, YAML, STREAM) if action == "list" else (JSON, YAML),
        consumes=patches if action == "patch" else (JSON, YAML),
        body=body,
        body_required=not action.startswith("delete"),
        resource=resource,
    )


def _describe(resource: Resource, action: str, path: str) -> str:
    said = _WORDS[action].format(plural=resource.plural)
    if path.endswith("/status"):
        return f"{said} The status alone is written." if action != "get" else said
    if action == "list" and "{namespace}" not in path and resource.namespaced:
        return f"{said} Those of all namespaces."
    return said


def _answers(resource: Resource, action: str) -> dict[int, str]:
    kind = definition_name(resource, resource.kind)
    match action:
        case "list":
            return {200: definition_name(resource, resource.list_kind)}
        case "post":
            return {200: kind, 201: kind, 202: kind}
        case "put" | "patch":
            return {200: kind, 201: kind}
        case "delete":
            return {200: f"{META}Status", 202: f"{META}Status"}
        case "deletecollection":
            return {200: f"{META}Status"}
        case _:
            return {200: kind}
