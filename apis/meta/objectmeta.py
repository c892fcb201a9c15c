"""ObjectMeta, declared like a kind: what merging and ownership know of `metadata`.

Its values are validated by `apis.meta.names`; types and list semantics are all that is said here.
"""

from typing import Final

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

_OWNER_REFERENCE: Final = Struct(
    fields={
        "apiVersion": String(),
        "kind": String(),
        "name": String(),
        "uid": String(),
        "controller": Boolean(),
        "blockOwnerDeletion": Boolean(),
    },
    required=("apiVersion", "kind", "name", "uid"),
)
"""Owned as a whole."""

_CLIENTS: Final[dict[str, Node]] = {
    "annotations": MapOf(values=String()),
    "finalizers": ListOf(items=String(), semantics=ListType.SET),
    "generateName": String(),
    "labels": MapOf(values=String()),
    "ownerReferences": ListOf(items=_OWNER_REFERENCE, semantics=ListType.MAP, keys=("uid",)),
}

_SYSTEMS: Final[dict[str, Node]] = {
    "creationTimestamp": String(),
    "deletionGracePeriodSeconds": Integer(),
    "deletionTimestamp": String(),
    "generation": Integer(),
    "managedFields": ListOf(items=Anything()),
    "name": String(),
    "namespace": String(),
    "resourceVersion": String(),
    "selfLink": String(),
    "uid": String(),
}

SYSTEM_FIELDS: Final = frozenset(_SYSTEMS)
"""What identifies an object or is set by the server: nobody's, as ownership goes."""

OBJECT_META: Final = Struct(fields={**_CLIENTS, **_SYSTEMS})
