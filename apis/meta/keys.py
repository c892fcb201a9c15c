"""The only place that builds storage keys (relative to the server's etcd prefix).

    {group}/{resource}/{namespace}/{name}     a namespaced object
    {group}/{resource}/{name}                 a cluster-scoped object
    .ledger/bindings/{resource}/{namespace}/{name}    a binding's ledger
    .ledger/quotas/{namespace}/{name}                 the number of bindings that name a quota

Names and namespaces come from validated paths: they contain no slash and are not empty.
"""

GROUP = "garden.sapcloud.io"
LEDGERS = ".ledger/"
INTERNAL = ".internal/"
"""Marker and lease keys of the server itself: no object, no ledger."""


def object_key(resource: str, namespace: str, name: str) -> str:
    """The key of an object; `namespace` is empty for a cluster-scoped one."""
    if namespace:
        return f"{GROUP}/{resource}/{namespace}/{name}"
    return f"{GROUP}/{resource}/{name}"


def resource_prefix(resource: str, namespace: str = "") -> str:
    """What all keys of a resource (of a namespace) begin with; ends in a slash."""
    return f"{GROUP}/{resource}/{namespace}/" if namespace else f"{GROUP}/{resource}/"


def binding_ledger_key(resource: str, namespace: str, name: str) -> str:
    return f"{LEDGERS}bindings/{resource}/{namespace}/{name}"


def quota_references_key(namespace: str, name: str) -> str:
    return f"{LEDGERS}quotas/{namespace}/{name}"


def parse_object_key(key: str) -> tuple[str, str, str] | None:
    """(resource, namespace, name), or None where `key` is not an object's."""
    group, _, rest = key.partition("/")
    parts = rest.split("/")
    if group != GROUP or len(parts) not in (2, 3):
        return None
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else (parts[0], "", parts[1])
