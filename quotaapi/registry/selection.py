"""Selectors as storage sees them, and the facts of an object that they look at."""

from dataclasses import dataclass, field

from apis.meta.keys import object_key
from apis.meta.resource import Resource
from apis.meta.selectors import FieldSelector, LabelSelector
from apis.meta.transaction import Object
from quotaapi.registry.rest import ListQuery
from storage.interface import Extract, Facts, Predicate

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


def extract(resource: Resource) -> Extract:
    """What the cache is to keep decoded of this kind's objects."""
    selectable = tuple(resource.selectable_fields.items())
    indexes = tuple(resource.indexes.items())

    def facts(_key: str, obj: Object) -> Facts:
        metadata = obj["metadata"]
        fields = {NAME: metadata["name"], NAMESPACE: metadata.get("namespace", "")}
        for name, read in selectable:
            fields[name] = read(obj)
        return Facts(
            metadata.get("labels") or {}, fields, {index: read(obj) for index, read in indexes}
        )

    return facts


@dataclass(frozen=True, slots=True)
class Selection:
    """A `Predicate`. Two of the same texts are equal: by that watchers are told in common."""

    labels: str
    fields: str
    matches: Predicate = field(compare=False)

    def __call__(self, facts: Facts) -> bool:
        return self.matches(facts)


def predicate(query: ListQuery) -> Predicate | None:
    """The query's selectors, compiled; None where everything matches."""
    labels, fields = query.labels, query.fields
    if labels.empty and fields.empty:
        return None
    return Selection(str(labels), str(fields), _compiled(labels, fields))


def _compiled(labels: LabelSelector, fields: FieldSelector) -> Predicate:
    if fields.empty:
        return lambda facts: labels.matches(facts.labels)
    if labels.empty:
        return lambda facts: fields.matches(facts.fields)
    return lambda facts: labels.matches(facts.labels) and fields.matches(facts.fields)


def single_key(resource: Resource, namespace: str, query: ListQuery) -> str | None:
    """The only key that can match, where the query is a consistent list of one whole object.

    A page or a given version is left to the list, which knows what they mean.
    """
    if query.limit or query.continue_token or query.resource_version is not None or query.match:
        return None
    name = query.fields.exact(NAME)
    if not name or "/" in name:
        return None
    if not resource.namespaced:
        return object_key(resource.plural, "", name)
    namespace = namespace or query.fields.exact(NAMESPACE) or ""
    if not namespace or "/" in namespace:
        return None
    return object_key(resource.plural, namespace, name)
