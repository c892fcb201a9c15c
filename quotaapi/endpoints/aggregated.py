"""Aggregated discovery: every group, version and resource in one answer, to clients that ask for it.

kube-apiserver asks extension servers likewise, with the ETag of what it has.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from apis.meta import codec
from apis.meta.resource import Resource
from apis.meta.transaction import Object
from quotaapi.endpoints import cached
from quotaapi.endpoints.cached import Document, hash_of
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.negotiation import JSON, Clause, clauses
from quotaapi.endpoints.subresources import SUBRESOURCES

_GROUP: Final = "apidiscovery.k8s.io"
_KIND: Final = "APIGroupDiscoveryList"
_VERSIONS: Final = ("v2", "v2beta1")

_STATUS_VERBS: Final = ("get", "patch", "update")


def wrap(pages: Mapping[str, Handler], resources: Sequence[Resource]) -> Mapping[str, Handler]:
    """`pages` with /api and /apis answering in either form, as the Accept header has it."""
    listed = {"/api": [], "/apis": _groups(resources)}
    either = {path: _either(pages[path], groups) for path, groups in listed.items()}
    return {**pages, **either}


def _either(legacy: Handler, groups: list[Object]) -> Handler:
    etag = hash_of(codec.encode(groups))
    by_version = {version: _document(version, groups, etag) for version in _VERSIONS}

    async def answer(exchange: Exchange) -> web.StreamResponse:
        for clause in clauses(exchange.header("Accept")):
            if clause.quality <= 0 or clause.media_range not in (JSON, "application/*", "*/*"):
                continue
            if "as" not in clause.parameters:
                break
            if (version := _version(clause)) in by_version:
                document = by_version[version]
                return cached.answer(exchange, document, cache_control="public")
        return await legacy(exchange)

    return answer


def _version(clause: Clause) -> str:
    """Which version of aggregated discovery is asked for; empty where something else is."""
    parameters = clause.parameters
    if parameters.get("g") != _GROUP or parameters.get("as") != _KIND:
        return ""
    return parameters.get("v", "")


def _document(version: str, groups: list[Object], etag: str) -> Document:
    body = {"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "metadata": {}, "items": groups}
    return Document(codec.encode(body), f"{JSON};g={_GROUP};v={version};as={_KIND}", etag)


def _groups(resources: Sequence[Resource]) -> list[Object]:
    by_group: dict[str, dict[str, list[Object]]] = {}
    for resource in resources:
        versions = by_group.setdefault(resource.group, {})
        versions.setdefault(resource.version, []).append(_resource(resource))
    return [
        {
            "metadata": {"name": group, "creationTimestamp": None},
            "versions": [
                {"version": version, "resources": listed, "freshness": "Current"}
                for version, listed in versions.items()
            ],
        }
        for group, versions in by_group.items()
    ]


def _resource(resource: Resource) -> Object:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    said: Object = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        said["shortNames"] = list(resource.short_names)
    if resource.categories:
        said["categories"] = list(resource.categories)
    below: list[Object] = []
    if resource.has_status:
        verbs = [verb for verb in _STATUS_VERBS if verb in resource.verbs]
        below.append({"subresource": "status", "responseKind": kind, "verbs": verbs})
    for each in SUBRESOURCES.get(resource.plural, ()):
        answer = {"group": each.group, "version": each.version, "kind": each.kind}
        below.append({"subresource": each.name, "responseKind": answer, "verbs": list(each.verbs)})
    if below:
        said["subresources"] = below
    return said
