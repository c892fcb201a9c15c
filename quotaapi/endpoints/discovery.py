"""What the server serves, for clients that ask before they speak: legacy discovery, /version, the root.

The answers depend on the kinds alone, so they are made once.
"""

import platform
from collections.abc import Mapping, Sequence

from aiohttp import web

from apis.meta.keys import GROUP
from apis.meta.resource import Resource
from apis.meta.transaction import Object
from quotaapi import __version__
from quotaapi.endpoints import respond
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.negotiation import accepted
from quotaapi.endpoints.requestinfo import VERSION
from quotaapi.endpoints.subresources import SUBRESOURCES

_GROUP_VERSION = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
_KUBERNETES_MINOR = "36"
"""Whose API machinery this is compatible with; clients choose features by it."""


def pages(resources: Sequence[Resource], more_paths: Sequence[str]) -> Mapping[str, Handler]:
    """Path -> handler. `more_paths` are listed at the root beside these."""
    documents: dict[str, Object] = {
        "/api": {"kind": "APIVersions", "versions": [], "serverAddressByClientCIDRs": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(bare=True)]},
        f"/apis/{GROUP}": _group(bare=False),
        f"/apis/{GROUP}/{VERSION}": _resource_list(resources),
        "/version": _version(),
    }
    documents["/"] = {"paths": sorted([*documents, *more_paths])}
    return {path: _document(document) for path, document in documents.items()}


def _document(document: Object) -> Handler:
    async def answer(exchange: Exchange) -> web.StreamResponse:
        return respond.value(exchange, document, accepted(_without_shapes(exchange)))

    return answer


def _without_shapes(exchange: Exchange) -> str:
    """The Accept header; clauses that ask for aggregated discovery fall back to the plain document.

    kubectl offers `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList` first and
    tells from the Content-Type which of the two it got.
    """
    clauses = exchange.header("Accept").split(",")
    plain = [clause for clause in clauses if "as=" not in clause.lower()]
    return ",".join(plain)


def _group(*, bare: bool) -> Object:
    group: Object = {
        "name": GROUP,
        "versions": [_GROUP_VERSION],
        "preferredVersion": _GROUP_VERSION,
    }
    return group if bare else {"kind": "APIGroup", "apiVersion": "v1", **group}


def _resource_list(resources: Sequence[Resource]) -> Object:
    listed: list[Object] = []
    for resource in resources:
        listed.append(_listed(resource))
        if resource.has_status:
            listed.append(
                {
                    "name": f"{resource.plural}/status",
                    "singularName": "",
                    "namespaced": resource.namespaced,
                    "kind": resource.kind,
                    "verbs": [
                        verb for verb in ("get", "patch", "update") if verb in resource.verbs
                    ],
                }
            )
        listed += [
            {
                "name": f"{resource.plural}/{each.name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "version": each.version,
                "kind": each.kind,
                "verbs": list(each.verbs),
                **({"group": each.group} if each.group else {}),
            }
            for each in SUBRESOURCES.get(resource.plural, ())
        ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": _GROUP_VERSION["groupVersion"],
        "resources": listed,
    }


def _listed(resource: Resource) -> Object:
    listed: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        listed["shortNames"] = list(resource.short_names)
    if resource.categories:
        listed["categories"] = list(resource.categories)
    return listed


def _version() -> Object:
    return {
        "major": "1",
        "minor": _KUBERNETES_MINOR,
        "gitVersion": f"v1.{_KUBERNETES_MINOR}.0+quotaapi-{__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
