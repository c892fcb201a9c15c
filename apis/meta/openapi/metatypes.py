"""The types that all kinds share (metav1), declared with the nodes that kinds are declared with."""

from collections.abc import Mapping
from typing import Final

from apis.meta.openapi.schemas import INT_OR_STRING, META, QUANTITY, Dialect, Ref, schema_of
from apis.meta.structure import (
    Anything,
    Boolean,
    Integer,
    ListOf,
    ListType,
    MapOf,
    Node,
    String,
    Struct,
)
from apis.meta.transaction import Object

API_VERSION: Final = String(
    doc="The group and version of this object's schema. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
KIND: Final = String(
    doc="What the object is, in CamelCase. It cannot be changed. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
_TYPE_META: Final[Mapping[str, Node]] = {"apiVersion": API_VERSION, "kind": KIND}


def _time(doc: str) -> Ref:
    return Ref(doc=doc, name=f"{META}Time")


def _texts(doc: str, item: str, semantics: ListType = ListType.ATOMIC) -> ListOf:
    return ListOf(doc=doc, items=String(doc=item), semantics=semantics)


_OWNER_REFERENCE = Struct(
    doc="An object on which another depends, in the same namespace or cluster-scoped.",
    fields={
        "apiVersion": String(doc="The owner's group and version."),
        "kind": String(doc="The owner's kind."),
        "name": String(doc="The owner's name."),
        "uid": String(doc="The owner's uid."),
        "controller": Boolean(doc="Whether this owner is the one that manages the object."),
        "blockOwnerDeletion": Boolean(
            doc="Whether an owner that is deleted in the foreground waits for this object."
        ),
    },
    required=("apiVersion", "kind", "name", "uid"),
)

_MANAGED_FIELDS = Struct(
    doc="The fields that one manager has set, by one kind of write.",
    fields={
        "manager": String(doc="Who has set the fields."),
        "operation": String(doc="How: by `Apply`, or by any other write, `Update`."),
        "apiVersion": String(doc="The group and version in which the fields are named."),
        "time": _time("When the manager last changed the entry."),
        "fieldsType": String(doc="The format of fieldsV1; always `FieldsV1`."),
        "fieldsV1": Ref(doc="The fields.", name=f"{META}FieldsV1"),
        "subresource": String(doc="Through which subresource; empty for the object itself."),
    },
)

_OBJECT_META = Struct(
    doc="What every stored object has, whatever its kind.",
    fields={
        "name": String(doc="The name, unique within namespace and kind. It cannot be changed."),
        "generateName": String(
            doc="Where no name is given, the server appends a random suffix to this prefix."
        ),
        "namespace": String(doc="The namespace. Cluster-scoped objects have none."),
        "uid": String(doc="Unique over time and space. Set by the server."),
        "resourceVersion": String(
            doc="Changes with every write: to detect conflicts, and to watch from. Opaque. Set by "
            "the server."
        ),
        "generation": Integer(
            doc="Counts the changes of what is wanted, as opposed to metadata and status. Set by "
            "the server."
        ),
        "creationTimestamp": _time("When the object was created. Set by the server."),
        "deletionTimestamp": _time(
            "When deletion was asked for. The object goes once no finalizer is left. Set by the "
            "server."
        ),
        "deletionGracePeriodSeconds": Integer(
            doc="Seconds that a deletion leaves for an orderly end. Set by the server."
        ),
        "labels": MapOf(
            doc="Keys and values to select objects by.", values=String(doc="the value of a label")
        ),
        "annotations": MapOf(
            doc="Keys and values that tools keep with the object; not for selection.",
            values=String(doc="the value of an annotation"),
        ),
        "finalizers": _texts(
            "Who must still clean up before the object goes.", "a finalizer", ListType.SET
        ),
        "ownerReferences": ListOf(
            doc="The objects that this one depends on.",
            items=Ref(name=f"{META}OwnerReference"),
        ),
        "managedFields": ListOf(
            doc="Who has set which fields. Kept by the server.",
            items=Ref(name=f"{META}ManagedFieldsEntry"),
        ),
        "selfLink": String(doc="Not used any more."),
    },
)

_LIST_META = Struct(
    doc="What every list has.",
    fields={
        "resourceVersion": String(doc="The state that the list shows; to watch from."),
        "continue": String(doc="Where the next page begins; empty on the last one."),
        "remainingItemCount": Integer(doc="How many objects follow on later pages, where known."),
        "selfLink": String(doc="Not used any more."),
    },
)

_STATUS = Struct(
    doc="The outcome of a request that answers with no object.",
    fields={
        **_TYPE_META,
        "metadata": Ref(doc="Of the list, if any.", name=f"{META}ListMeta"),
        "status": String(doc="`Success` or `Failure`."),
        "message": String(doc="The outcome, for people."),
        "reason": String(doc="Why it failed, in one word, for programs."),
        "details": Ref(doc="More about the reason.", name=f"{META}StatusDetails"),
        "code": Integer(doc="The HTTP status."),
    },
)

_STATUS_DETAILS = Struct(
    doc="What a failure was about.",
    fields={
        "name": String(doc="The name of the object."),
        "group": String(doc="The group of the resource."),
        "kind": String(doc="The kind or resource."),
        "uid": String(doc="The uid of the object."),
        "causes": ListOf(doc="The faults, one by one.", items=Ref(name=f"{META}StatusCause")),
        "retryAfterSeconds": Integer(doc="Seconds to wait before another try."),
    },
)

_STATUS_CAUSE = Struct(
    doc="One fault.",
    fields={
        "reason": String(doc="What is wrong, in one word, for programs."),
        "message": String(doc="What is wrong, for people."),
        "field": String(doc="The field that is at fault, as a path such as `spec.limits[0].min`."),
    },
)

_PRECONDITIONS = Struct(
    doc="What must be true of an object for a deletion to happen.",
    fields={
        "uid": String(doc="The object's uid."),
        "resourceVersion": String(doc="The object's resourceVersion."),
    },
)

_DELETE_OPTIONS = Struct(
    doc="How to delete.",
    fields={
        **_TYPE_META,
        "gracePeriodSeconds": Integer(doc="Seconds for an orderly end; 0: at once."),
        "preconditions": Ref(
            doc="What must be true of the object; else nothing is deleted.",
            name=f"{META}Preconditions",
        ),
        "orphanDependents": Boolean(doc="Superseded by propagationPolicy."),
        "propagationPolicy": String(
            doc="What happens to dependents: `Orphan`, `Background` or `Foreground`."
        ),
        "dryRun": _texts("`All`: go through everything, delete nothing.", "a stage"),
        "ignoreStoreReadErrorWithClusterBreakingPotential": Boolean(
            doc="For objects that cannot be read from storage; has no effect here."
        ),
    },
)

_API_RESOURCE = Struct(
    doc="One resource and what can be done with it.",
    fields={
        "name": String(doc="The plural name, as in paths."),
        "singularName": String(doc="The name of one."),
        "namespaced": Boolean(doc="Whether its objects live in namespaces."),
        "kind": String(doc="The kind of its objects."),
        "group": String(doc="Its group, where it is not the list's."),
        "version": String(doc="Its version, where it is not the list's."),
        "verbs": _texts("What can be done with it.", "a verb"),
        "shortNames": _texts("Short names for the command line.", "a short name"),
        "categories": _texts(
            "Groups of resources that it belongs to, such as `all`.", "a category"
        ),
        "storageVersionHash": String(doc="Which version is stored. Opaque."),
    },
    required=("name", "singularName", "namespaced", "kind", "verbs"),
)

_GROUP_VERSION = Struct(
    doc="A version of a group.",
    fields={
        "groupVersion": String(doc="Group and version, `group/version`."),
        "version": String(doc="The version alone."),
    },
    required=("groupVersion", "version"),
)

_DECLARED: Final[Mapping[str, Struct]] = {
    "ObjectMeta": _OBJECT_META,
    "ListMeta": _LIST_META,
    "OwnerReference": _OWNER_REFERENCE,
    "ManagedFieldsEntry": _MANAGED_FIELDS,
    "FieldsV1": Struct(
        doc="Fields as a tree: `f:name`, `k:{keys of a list's item}`, `v:value`, `.`."
    ),
    "Status": _STATUS,
    "StatusDetails": _STATUS_DETAILS,
    "StatusCause": _STATUS_CAUSE,
    "Preconditions": _PRECONDITIONS,
    "DeleteOptions": _DELETE_OPTIONS,
    "Patch": Struct(doc="A change, in the format that the media type names."),
    "WatchEvent": Struct(
        doc="One line of a watch.",
        fields={
            "type": String(doc="`ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`."),
            "object": Anything(
                doc="The object after the event, before it went, or a Status for an error."
            ),
        },
        required=("type", "object"),
    ),
    "APIResource": _API_RESOURCE,
    "APIResourceList": Struct(
        doc="The resources of a version.",
        fields={
            **_TYPE_META,
            "groupVersion": String(doc="Group and version, `group/version`."),
            "resources": ListOf(doc="The resources.", items=Ref(name=f"{META}APIResource")),
        },
        required=("groupVersion", "resources"),
    ),
    "GroupVersionForDiscovery": _GROUP_VERSION,
    "APIGroup": Struct(
        doc="A group and its versions.",
        fields={
            **_TYPE_META,
            "name": String(doc="The name of the group."),
            "versions": ListOf(
                doc="Its versions.", items=Ref(name=f"{META}GroupVersionForDiscovery")
            ),
            "preferredVersion": Ref(
                doc="The version to use.", name=f"{META}GroupVersionForDiscovery"
            ),
        },
        required=("name", "versions"),
    ),
}

_OWNERS_ARE_A_MAP: Final = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["uid"],
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "uid",
}
"""Said here: to a `ListOf`, items that are a reference have no keys."""

_TIME = {"type": "string", "format": "date-time", "description": "A time, as RFC 3339 writes it."}
_QUANTITY_WORDS = (
    "A number with a suffix: decimal (n, u, m, k, M, G, T, P, E), binary (Ki, Mi, Gi, Ti, Pi, Ei) "
    "or an exponent (1e3). A plain number is taken, too. Sizes are exact and shown in one form."
)
_INT_OR_STRING_WORDS = "An integer, or a text such as a percentage."


def definitions(dialect: Dialect) -> dict[str, Object]:
    """Name -> schema of every type that documents refer to."""
    found = {f"{META}{name}": schema_of(node, dialect) for name, node in _DECLARED.items()}
    found[f"{META}ObjectMeta"]["properties"]["ownerReferences"] |= _OWNERS_ARE_A_MAP
    found[f"{META}Time"] = dict(_TIME)
    if dialect.v2:
        # No alternatives in version 2: what a text may be, a number may be for kubectl.
        number: Object = {"type": "string"}
        either: Object = {"type": "string", "format": "int-or-string"}
    else:
        number = {"oneOf": [{"type": "string"}, {"type": "number"}]}
        either = {
            "format": "int-or-string",
            "oneOf": [{"type": "integer"}, {"type": "string"}],
        }
    found[QUANTITY] = {"description": _QUANTITY_WORDS, **number}
    found[INT_OR_STRING] = {"description": _INT_OR_STRING_WORDS, **either}
    return found
