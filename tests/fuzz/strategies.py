"""Requests that are nearly right: structured, so that they get as deep as they can."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from hypothesis import strategies as st

from apis.garden.v1beta1.register import GROUP, RESOURCES, VERSION
from apis.meta import codec
from apis.meta.transaction import Object
from tests.fuzz.target import SEED
from tests.fuzz.wire import Headers
from tests.harness.api import PLURALS
from tests.harness.server import GROUP_PATH

NAMESPACES: Final = ("garden-trial", "garden-dev", "empty")
NAMES: Final = tuple(obj["metadata"]["name"] for obj in SEED)

PAGES: Final = (
    *("/", "/api", "/apis", f"/apis/{GROUP}", f"/apis/{GROUP}/{VERSION}", "/version"),
    *("/openapi/v2", "/openapi/v3", f"/openapi/v3/apis/{GROUP}/{VERSION}"),
    *("/livez", "/readyz", "/healthz", "/readyz/etcd", "/metrics", "/api/v1/namespaces/x"),
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
)
METHODS: Final = (
    *("GET", "GET", "GET", "HEAD", "POST", "POST", "POST", "PUT", "PUT", "PUT", "PATCH", "PATCH"),
    *("PATCH", "PATCH", "PATCH", "DELETE", "DELETE", "OPTIONS", "TRACE"),
)
PATCHES: Final = (
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
CONTENT_TYPES: Final = (
    *("application/json", "application/yaml", *PATCHES, "application/vnd.kubernetes.protobuf"),
    *("application/cbor", "text/plain", "", ";;;", "application/json; charset=utf-16", "a/b/c"),
)
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCEPTS: Final = (
    *("application/json", "*/*", "application/yaml", _TABLE, "application/json;as=Table"),
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
    *("application/json;q=0", "application/json;q=nonsense", "text/html", ",;=,", "*"),
    "application/json;stream=watch;as=Table;v=v1beta1;g=meta.k8s.io",
)

ODD: Final = (
    *("", " ", "0", "-1", "1", "true", "false", "null", "All", "abc", "1e9", "..", "%", "\x00"),
    *("999999999999999999999999", "18446744073709551615", "9223372036854775808", "\ud7ff", "ß"),
    *("a=b", "a in (b", "!a,b", "metadata.name=x", "spec.scope=secret", "=,=", "x" * 400),
)
text = st.one_of(st.sampled_from(ODD), st.text(max_size=12))

QUERY: Final[dict[str, Sequence[str]]] = {
    "dryRun": ("All",),
    "fieldManager": ("me", "x" * 200),
    "force": ("true", "false"),
    "fieldValidation": ("Strict", "Warn", "Ignore"),
    "limit": ("1", "2", "0"),
    "continue": ("eyJ2IjoxfQ", "eyJ2IjoxLCJydiI6MSwic3RhcnQiOiJ4In0"),
    "resourceVersion": ("0", "1", "1000", "99999999"),
    "resourceVersionMatch": ("Exact", "NotOlderThan"),
    "watch": ("true", "1", "false"),
    "timeoutSeconds": ("1", "0"),
    "timeout": ("1s", "0"),
    "labelSelector": ("a=b", "a in (b,c)", "!a"),
    "fieldSelector": ("metadata.name=quota", "spec.scope=secret", "metadata.namespace!=x"),
    "allowWatchBookmarks": ("true",),
    "sendInitialEvents": ("true", "false"),
    "propagationPolicy": ("Foreground", "Background", "Orphan"),
    "gracePeriodSeconds": ("0", "30"),
    "orphanDependents": ("true",),
    "ignoreStoreReadErrorWithClusterBreakingPotential": ("true",),
    "includeObject": ("None", "Metadata", "Object"),
    "pretty": ("true",),
    "hash": ("abc",),
    "verbose": ("",),
    "exclude": ("etcd",),
}

numbers = st.one_of(
    st.integers(-(2**70), 2**70), st.sampled_from((0, -1, 2**31, 2**63, 2**64)), st.floats()
)
scalars = st.one_of(st.none(), st.booleans(), numbers, text)
values = st.recursive(
    scalars,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(text, below, max_size=3)),
    max_leaves=8,
)
DIRECTIVES: Final = (
    *("$patch", "$retainKeys", "$setElementOrder/workers", "$deleteFromPrimitiveList/zones"),
    *("metadata", "spec", "status", "name", "managedFields", "finalizers", "ownerReferences"),
)


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes
    reads: bool
    streams: bool


def spoil(draw: st.DrawFn, obj: Any) -> Any:
    """`obj` with a few of its parts replaced, removed or joined by others."""
    obj = copy.deepcopy(obj)
    for _ in range(draw(st.integers(0, 3))):
        place, key = _somewhere(draw, obj)
        if place is None:
            return draw(values)
        match draw(st.sampled_from(("replace", "remove", "add"))):
            case "remove":
                del place[key]
            case "add" if isinstance(place, dict):
                place[draw(st.one_of(text, st.sampled_from(DIRECTIVES)))] = draw(values)
            case _:
                place[key] = draw(values)
    return obj


def _somewhere(draw: st.DrawFn, obj: Any) -> tuple[Any, Any]:
    place, key = None, None
    while isinstance(obj, dict | list) and obj:
        keys = list(obj) if isinstance(obj, dict) else range(len(obj))
        place, key = obj, draw(st.sampled_from(list(keys)))
        if draw(st.integers(0, 3)) == 0:
            break
        obj = obj[key]
    return place, key


def pointers(obj: Any, prefix: str = "") -> list[str]:
    found = [prefix]
    if isinstance(obj, dict | list):
        members = obj.items() if isinstance(obj, dict) else enumerate(obj)
        for key, below in members:
            found += pointers(below, f"{prefix}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


def json_patch(draw: st.DrawFn, obj: Object) -> Any:
    paths = st.one_of(
        st.sampled_from(pointers(obj)), st.sampled_from(("/spec/-", "x", "//", "/~2"))
    )
    steps = []
    for _ in range(draw(st.integers(0, 4))):
        step = {
            "op": draw(st.sampled_from(("add", "remove", "replace", "move", "copy", "test", "no"))),
            "path": draw(paths),
            "from": draw(paths),
            "value": draw(values),
        }
        for key in list(step):
            if draw(st.integers(0, 9)) == 0:
                del step[key]
        steps.append(step)
    return spoil(draw, steps)


def _body(draw: st.DrawFn, obj: Object, content_type: str) -> bytes:
    if draw(st.integers(0, 11)) == 0:
        return draw(st.one_of(st.binary(max_size=60), st.sampled_from(GARBAGE)))
    value: Any
    if content_type == "application/json-patch+json":
        value = json_patch(draw, obj)
    elif draw(st.integers(0, 9)) == 0:
        value = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": draw(values)}
    else:
        value = spoil(draw, obj)
    try:
        return codec.encode(value)
    except (TypeError, ValueError):  # a number that the codec does not write
        return repr(value).encode(errors="replace")


GARBAGE: Final[tuple[bytes, ...]] = (
    *(b"", b"{", b"null", b"[]", b'""', b"0", b"\xff\xfe", b"\x00", b"k8s\x00", b"k8s\x00\x0a\xff"),
    *(b"{" * 5000, b"[" * 100_000, b'{"a":' * 20_000, b'{"a":1,"a":2}', b'{"a":NaN}', b"1e999999"),
    *(b'"\\ud800"', b'{"kind":"Quota","kind":"Shoot"}', b"a: &a [*a]", b"a: !!python/object:os {}"),
    b"a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
    b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n",
    *(
        b"--- a\n--- b\n",
        b"? [a]\n: b",
        b"x: 0o7\ny: 0x7\nz: 1:30\nw: 2001-01-01",
        b"\t- a",
        b"%YAML 9",
    ),
)


def _target(draw: st.DrawFn, obj: Object, method: str) -> str:
    """Mostly where the object belongs, else anywhere."""
    metadata = obj["metadata"]
    plural, namespace, name = PLURALS[obj["kind"]], metadata.get("namespace", ""), metadata["name"]
    below = ""
    match draw(st.integers(0, 15)):
        case 0:
            return draw(st.sampled_from(PAGES))
        case 1:
            plural = draw(st.sampled_from([resource.plural for resource in RESOURCES]))
        case 2:
            namespace = draw(st.one_of(st.sampled_from(("", *NAMESPACES)), text))
        case 3:
            name = draw(st.one_of(st.sampled_from(NAMES), text))
        case 4:
            below = draw(st.sampled_from(("/resourcequota", "/scale", "/a/b", "/status/")))
        case 5:
            return f"{GROUP_PATH}/watch/{plural}"
        case 6 | 7:
            below = "/status"
    inside = f"/namespaces/{_escape(namespace)}" if namespace else ""
    collection = f"{GROUP_PATH}{inside}/{plural}"
    whole = method == "POST" or (method in ("GET", "HEAD") and draw(st.booleans()))
    if whole or draw(st.integers(0, 30)) == 0 or not name:
        return collection
    return f"{collection}/{_escape(name)}{below}"


def _escape(segment: str) -> str:
    return quote(segment, safe="", errors="replace")


@st.composite
def queries(draw: st.DrawFn) -> list[tuple[str, str]]:
    names = draw(st.lists(st.sampled_from(list(QUERY)), max_size=3))
    given = []
    for name in names:
        usual = draw(st.integers(0, 2)) > 0
        given.append((name, draw(st.sampled_from(list(QUERY[name])) if usual else text)))
    return given


@st.composite
def requests(draw: st.DrawFn) -> Request:
    obj = draw(st.sampled_from(SEED))
    method = draw(st.sampled_from(METHODS))
    target = _target(draw, obj, method)
    query = draw(queries()) if draw(st.booleans()) else []
    odd = draw(st.integers(0, 7))
    content_type = draw(st.sampled_from(PATCHES if method == "PATCH" else CONTENT_TYPES[:1]))
    if odd == 0:
        content_type = draw(st.sampled_from(CONTENT_TYPES))
    if method == "PATCH":
        query.append(("fieldManager", "fuzz"))
    accept = draw(st.sampled_from(ACCEPTS if odd < 3 else ACCEPTS[:1]))
    headers = [("Content-Type", content_type), ("Accept", accept)]
    if method == "POST" and draw(st.booleans()):
        obj = {**obj, "metadata": {**obj["metadata"], "generateName": "x-"}}
        del obj["metadata"]["name"]
    body = b""
    if method in ("POST", "PUT", "PATCH", "DELETE"):
        body = _body(draw, obj, content_type)
    encoded = urlencode(query, errors="replace")
    return Request(
        method,
        target + (f"?{encoded}" if encoded else ""),
        headers,
        body,
        reads=method in ("GET", "HEAD", "OPTIONS", "TRACE") or ("dryRun", "All") in query,
        streams="watch" in target or any(name == "watch" for name, _ in query),
    )
