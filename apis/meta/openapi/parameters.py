"""The parameters of requests, by action. Values are (type, description), a schema in either version."""

from collections.abc import Mapping
from typing import Final

from apis.meta.transaction import Object

_BOOLEAN: Final = "boolean"
_INTEGER: Final = "integer"
_STRING: Final = "string"

Table = Mapping[str, tuple[str, str]]

PRETTY: Final[Table] = {
    "pretty": (
        _STRING,
        "`true`: indent the answer. For curl, wget and browsers it is the default.",
    ),
}

_SELECTING: Final[Table] = {
    "labelSelector": (_STRING, "Only objects whose labels match, such as `a=b,c!=d`."),
    "fieldSelector": (_STRING, "Only objects whose fields match, such as `metadata.name=x`."),
    "limit": (_INTEGER, "At most so many objects; `continue` of the answer leads to the others."),
    "continue": (_STRING, "From an earlier answer: go on with the same list."),
    "resourceVersion": (_STRING, "What state is wanted; empty: the newest, `0`: any."),
    "resourceVersionMatch": (_STRING, "What resourceVersion means: `NotOlderThan` or `Exact`."),
    "sendInitialEvents": (
        _BOOLEAN,
        "Of a watch: begin with an event for every object that is there, then a bookmark.",
    ),
    "timeoutSeconds": (_INTEGER, "Seconds after which the answer ends, whatever happens."),
}

_WATCHING: Final[Table] = {
    "watch": (_BOOLEAN, "Answer with changes from resourceVersion on, one event a line."),
    "allowWatchBookmarks": (_BOOLEAN, "Send bookmarks: events that tell a resourceVersion alone."),
}

_DRY_RUN: Final[Table] = {
    "dryRun": (_STRING, "`All`: go through everything, persist nothing."),
}

_WRITING: Final[Table] = {
    **_DRY_RUN,
    "fieldManager": (_STRING, "Who changes the fields; without it, the client's User-Agent."),
    "fieldValidation": (
        _STRING,
        "What unknown and duplicate fields are: `Strict`, an error; `Warn`, the default, a "
        "warning; `Ignore`, dropped in silence.",
    ),
}

_DELETING: Final[Table] = {
    **_DRY_RUN,
    "gracePeriodSeconds": (_INTEGER, "Seconds for an orderly end; 0: at once."),
    "orphanDependents": (_BOOLEAN, "Superseded by propagationPolicy."),
    "propagationPolicy": (
        _STRING,
        "What happens to dependents: `Orphan`, `Background` or `Foreground`.",
    ),
}

_FORCE: Final[Table] = {
    "force": (_BOOLEAN, "Of an apply: take fields over from other managers."),
}

QUERY: Final[Mapping[str, Table]] = {
    "get": {},
    "list": {**_SELECTING, **_WATCHING},
    "post": _WRITING,
    "put": _WRITING,
    "patch": {**_WRITING, **_FORCE},
    "delete": _DELETING,
    "deletecollection": {**_SELECTING, **_DELETING},
}
"""Action -> parameters."""

PATH: Final[Table] = {
    "namespace": (_STRING, "The namespace."),
    "name": (_STRING, "The name of the object."),
}


def described(name: str, table: Table, *, place: str, schema_within: bool) -> Object:
    """`schema_within`: version 3 keeps the type in a schema, version 2 beside the name."""
    kind, description = table[name]
    said: Object = {"name": name, "in": place, "description": description}
    if place == "path":
        said["required"] = True
    typed = {"type": kind}
    return {**said, "schema": typed} if schema_within else {**said, **typed}
