"""Requests that mean harm: bodies of three megabytes, and small ones that make much of little."""

import itertools
from collections.abc import Callable
from typing import Any

from apis.meta import codec
from tests.builders import a_quota, a_shoot, a_worker
from tests.harness.api import Object
from tests.harness.server import GROUP_PATH


def quota_with(**metadata: Any) -> Object:
    quota = a_quota(name="hostile")
    quota["metadata"] |= metadata
    return quota


def preserved(value: object) -> Object:
    shoot = a_shoot(name="hostile")
    shoot["spec"]["preserved"] = value
    return shoot


def yaml_bomb() -> bytes:
    letters = "abcdefghijklmnopqrst"
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for last, this in itertools.pairwise(letters):
        lines.append(f"{this}: &{this} [{','.join([f'*{last}'] * 9)}]")
    return "\n".join(lines).encode()


def owners(count: int, **more: Any) -> list[Object]:
    return [
        {"apiVersion": "v1", "kind": "Node", "name": f"n{n}", "uid": f"u{n}", **more}
        for n in range(count)
    ]


JSON, YAML = "application/json", "application/yaml"
LONG = "x" * (3 * 1024 * 1024 - 4096)
BODIES: dict[str, tuple[str, Callable[[], bytes], set[int]]] = {
    "a label of 3 MiB": (JSON, lambda: codec.encode(quota_with(labels={"a": LONG})), {422}),
    "an annotation of 3 MiB": (
        JSON,
        lambda: codec.encode(quota_with(annotations={"a": LONG})),
        {422},
    ),
    "10,000 labels": (
        JSON,
        lambda: codec.encode(quota_with(labels={f"k{n}": "v" for n in range(10_000)})),
        {201},
    ),
    "100,000 labels, all wrong": (
        JSON,
        lambda: codec.encode(quota_with(labels={f"k/{n}/x": "v!" for n in range(100_000)})),
        {422},
    ),
    "100,000 labels": (
        JSON,
        lambda: codec.encode(quota_with(labels={f"k{n}": "v" for n in range(100_000)})),
        {413},
    ),
    "100,000 finalizers": (
        JSON,
        lambda: codec.encode(quota_with(finalizers=[f"a.b/c{n}" for n in range(100_000)])),
        {413},
    ),
    "20,000 controller owners": (
        JSON,
        lambda: codec.encode(quota_with(ownerReferences=owners(20_000, controller=True))),
        {422},
    ),
    "100,000 fields that are said twice": (
        JSON,
        lambda: (
            b'{"kind":"Quota",'
            + b",".join(b'"b%d":{"x":1,"x":2}' % n for n in range(100_000))
            + b"}"
        ),
        {400},
    ),
    "a name that is no ASCII": (JSON, lambda: codec.encode(quota_with(name="größe")), {422}),
    "a name with a right-to-left mark": (
        JSON,
        lambda: codec.encode(quota_with(name="a\u202eb")),
        {422},
    ),
    "200,000 unknown fields": (
        JSON,
        lambda: codec.encode(a_quota(name="hostile") | {f"u{n}": 1 for n in range(200_000)}),
        {201, 409, 422},
    ),
    "150,000 preserved fields": (
        JSON,
        lambda: codec.encode(preserved({f"k{n}": n for n in range(150_000)})),
        {422},
    ),
    "20,000 workers": (
        JSON,
        lambda: codec.encode(
            a_shoot(name="hostile", workers=[a_worker(name=f"w{n}") for n in range(20_000)])
        ),
        {422},
    ),
    "100,000 workers of nothing but names": (
        JSON,
        lambda: codec.encode(
            a_shoot(name="hostile", workers=[{"name": f"w{n}"} for n in range(100_000)])
        ),
        {422},
    ),
    "a million empty objects": (JSON, lambda: codec.encode(preserved([{}] * 1_000_000)), {422}),
    "100,000 metrics": (
        JSON,
        lambda: codec.encode(
            a_quota(name="hostile", metrics={f"storage.c{n}": "1" for n in range(100_000)})
        ),
        {413, 422},
    ),
    "objects 500,000 deep": (JSON, lambda: b'{"a":' * 500_000 + b"1" + b"}" * 500_000, {400}),
    "arrays three million deep": (JSON, lambda: b"[" * 3_000_000, {400}),
    "a YAML alias bomb": (YAML, yaml_bomb, {400}),
    "YAML of three million bytes": (
        YAML,
        lambda: "\n".join(f"k{n}: {n}" for n in range(200_000)).encode(),
        {400},
    ),
    "an alias of a large list, five times": (
        YAML,
        lambda: b"a: &a [" + b"x," * 50_000 + b"]\nb: [*a,*a,*a,*a,*a]",
        {400},
    ),
    "YAML of a hundred thousand items": (
        YAML,
        lambda: (
            codec.encode(a_quota(name="hostile"))[:-1]
            + b", 'z': ["
            + b",".join(b"x%d" % n for n in range(98_000))
            + b"]}"
        ),
        {201},
    ),
    "YAML nested a million deep": (YAML, lambda: b"[" * 1_000_000, {400}),
}


QUOTAS = f"{GROUP_PATH}/namespaces/garden-trial/quotas"
SHOOTS = f"{GROUP_PATH}/namespaces/garden-dev/shoots"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
Request = tuple[str, str, str, Callable[[], bytes], set[int]]
REQUESTS: dict[str, Request] = {
    "a JSON patch of 10,000 operations": (
        "PATCH",
        f"{QUOTAS}/quota",
        JSON_PATCH,
        lambda: codec.encode(
            [
                {"op": "add", "path": "/metadata/labels", "value": {}},
                *(
                    {"op": "add", "path": f"/metadata/labels/a{n}", "value": "b"}
                    for n in range(9_998)
                ),
                {"op": "test", "path": "/kind", "value": "Other"},
            ]
        ),
        {422},
    ),
    "10,000 tests of all that a patch has made": (
        "PATCH",
        f"{QUOTAS}/quota",
        JSON_PATCH,
        lambda: codec.encode(
            [
                {"op": "add", "path": "/x", "value": ["x" * 100] * 20_000},
                *({"op": "test", "path": "", "value": {"a": n}} for n in range(9_999)),
            ]
        ),
        {422},
    ),
    "copies of copies": (
        "PATCH",
        f"{QUOTAS}/quota",
        JSON_PATCH,
        lambda: codec.encode(
            [
                {"op": "add", "path": "/x", "value": {"a": [1] * 10}},
                *({"op": "copy", "from": "/x", "path": f"/x/k{n}"} for n in range(17)),
            ]
        ),
        {422},
    ),
    "a strategic merge of 20,000 entries": (
        "PATCH",
        f"{SHOOTS}/stands",
        STRATEGIC,
        lambda: codec.encode(
            {"spec": {"cloud": {"aws": {"workers": [{"name": f"w{n}"} for n in range(20_000)]}}}}
        ),
        {422},
    ),
    "60,000 keys to be retained": (
        "PATCH",
        f"{SHOOTS}/stands?dryRun=All",
        STRATEGIC,
        lambda: codec.encode(
            {
                "spec": {
                    "x": {
                        "$retainKeys": [f"k{n}" for n in range(60_000)],
                        **{f"k{n}": 1 for n in range(60_000)},
                    }
                }
            }
        ),
        {422},
    ),
    "a merge of 150,000 fields": (
        "PATCH",
        f"{SHOOTS}/stands",
        MERGE,
        lambda: codec.encode({"spec": {"x": {f"k{n}": 1 for n in range(150_000)}}}),
        {422},
    ),
    "an apply of 100,000 labels": (
        "PATCH",
        f"{QUOTAS}/applied?fieldManager=hostile",
        APPLY,
        lambda: codec.encode(
            {
                **a_quota(name="applied"),
                "metadata": {"name": "applied", "labels": {f"k{n}": "v" for n in range(100_000)}},
            }
        ),
        {413},
    ),
    "an update of 60,000 labels": (
        "PUT",
        f"{QUOTAS}/quota",
        JSON,
        lambda: codec.encode(
            {
                **a_quota(),
                "metadata": {
                    "name": "quota",
                    "resourceVersion": "1",
                    "labels": {f"k{n}": "v" for n in range(60_000)},
                },
            }
        ),
        {409},
    ),
    "a delete with three megabytes of YAML": (
        "DELETE",
        f"{QUOTAS}/none",
        YAML,
        lambda: "\n".join(f"a-key-of-some-length-{n}: {n}" for n in range(90_000)).encode(),
        {400},
    ),
    "a list by thousands of requirements": (
        "GET",
        f"{QUOTAS}?labelSelector={','.join(f'!k{n}' for n in range(7_000))}",
        JSON,
        lambda: b"",
        {200},
    ),
}


def creation(what: str) -> Request:
    media_type, make, statuses = BODIES[what]
    path = SHOOTS if b'"Shoot"' in make()[:200] else QUOTAS
    return "POST", path, media_type, make, statuses


def request_named(what: str) -> Request:
    return REQUESTS[what] if what in REQUESTS else creation(what)
