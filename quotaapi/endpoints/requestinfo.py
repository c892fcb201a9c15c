"""A request's method and path, read as kube-apiserver reads them. Pure; never raises."""

from typing import Final
from urllib.parse import unquote_plus, unquote_to_bytes

from apis.meta.keys import GROUP
from apis.meta.values import valueclass

VERSION: Final = "v1beta1"

_VERBS: Final = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}
_PREFIX: Final = ("apis", GROUP, VERSION)
_WATCH_VALUES_OFF: Final = ("0", "false")


@valueclass
class RequestInfo:
    """What is asked for. `resource` is empty where the path names none: then only `path` counts.

    `verb` is kube's (`deletecollection`, `list`, `watch` ...); for a path that is no resource,
    and for a method that has no verb, the method in lower case. `valid` is False where the path
    cannot name anything: a segment with an escaped slash, an empty one, or bytes that are no text.
    """

    method: str
    path: str
    query: str
    verb: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    valid: bool = True
    group: str = GROUP
    version: str = VERSION

    @property
    def mutating(self) -> bool:
        return self.verb in _MUTATING

    @property
    def long_running(self) -> bool:
        return self.verb == "watch"


_MUTATING: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def parse(method: str, target: str) -> RequestInfo:
    """`target` is the request line's: a path, perhaps with a query, not decoded."""
    path, _, query = target.partition("?")
    parts = path.strip("/").split("/")
    if "%" in path:
        decoded = [_decode(part) for part in parts]
        if None in decoded:
            return RequestInfo(method, path, query, method.lower(), valid=False)
        parts = [part for part in decoded if part is not None]
        path = "/" + "/".join(parts)
    if len(parts) < 4 or tuple(parts[:3]) != _PREFIX:
        return RequestInfo(method, path, query, method.lower())
    return _resource_request(method, path, query, parts[3:])


def _decode(part: str) -> str | None:
    """A segment without its escapes; None for one that no name can be."""
    try:
        text = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        return None
    return None if "/" in text else text


def _resource_request(method: str, path: str, query: str, parts: list[str]) -> RequestInfo:
    valid = all(parts)
    watched = parts[0] == "watch" and len(parts) > 1  # kube's old way to ask for a watch
    if watched:
        parts = parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource = (*parts[:3], "", "")[:3]
    valid = valid and len(parts) <= 3
    verb = _verb(method, name, query, watched=watched)
    return RequestInfo(
        method, path, query, verb, resource, namespace, name, subresource, valid=valid
    )


def _verb(method: str, name: str, query: str, *, watched: bool) -> str:
    verb = _VERBS.get(method)
    if verb == "get":
        if watched:
            return "watch"
        if name:
            return "get"
        said = "watch" in query or "%" in query
        return "watch" if said and _asks_to_watch(query) else "list"
    if verb is None:
        if method != "DELETE":
            return method.lower()
        return "delete" if name else "deletecollection"
    return verb


def _asks_to_watch(query: str) -> bool:
    """kube's reading of a boolean: the first value counts, and everything but 0 and false is true."""
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if unquote_plus(key) == "watch":
            return unquote_plus(value).lower() not in _WATCH_VALUES_OFF
    return False
