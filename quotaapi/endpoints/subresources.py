"""Subresources of single kinds, besides `status`: how each is answered and what discovery says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apis.garden.v1beta1.register import SHOOT
from apis.meta.resource import Resource
from quotaapi.endpoints.api import Verb
from quotaapi.endpoints.resourcequota import resourcequota


@dataclass(frozen=True, slots=True)
class Subresource:
    """`group`, `version` and `kind` are what it answers with; the core group is empty."""

    name: str
    group: str
    version: str
    kind: str
    verbs: Mapping[str, Verb]


SUBRESOURCES: Final[Mapping[str, Sequence[Subresource]]] = {
    SHOOT.plural: (
        Subresource("resourcequota", "", "v1", "ResourceQuota", {"get": resourcequota}),
    ),
}
"""By plural of the kind."""


def subresource(resource: Resource, name: str) -> Subresource | None:
    found = SUBRESOURCES.get(resource.plural, ())
    return next((each for each in found if each.name == name), None)
