"""Which stage of a request a sampled stack belongs to."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

LOOP = "event loop, sockets"
OTHER = "other"

_STAGES: Sequence[tuple[str, Sequence[str]]] = (
    ("TLS", ("/ssl.py",)),
    ("quota admission", ("/admission/quota/", "/admission/metering/")),
    ("admission plugins", ("/admission/plugins/", "/admission/chain.py")),
    (
        "managedFields",
        (
            "/apis/meta/managedfields.py",
            "/apis/meta/managers.py",
            "/apis/meta/fieldset.py",
            "/apis/meta/typed",
        ),
    ),
    (
        "schema: shape, defaults, rules",
        (
            "/apis/meta/schema.py",
            "/apis/meta/shaping.py",
            "/apis/meta/structure.py",
            "/apis/meta/checks.py",
            "/apis/meta/scalar_checks.py",
            "/apis/garden/",
            "/quotaapi/resources/",
        ),
    ),
    ("registry: metadata, claims", ("/quotaapi/registry/", "/storage/claims.py")),
    (
        "watch cache, fan-out",
        ("/storage/cache/", "/storage/lookaside.py", "/storage/etcd/watch.py"),
    ),
    (
        "storage: group commit, etcd client",
        ("/storage/", "/etcd3/", "/aiohttp/client", "/aiohttp/connector.py"),
    ),
    ("filters, authentication", ("/quotaapi/filters/", "/quotaapi/auth/")),
    ("endpoints: body, answer", ("/quotaapi/endpoints/",)),
    ("HTTP", ("/quotaapi/server/", "/aiohttp/web", "/aiohttp/http_writer.py")),
    ("controllers, audit", ("/quotaapi/controllers/", "/quotaapi/")),
)
"""In this order. What is in none of these files (helpers, the standard library) counts for its caller."""

STAGES = [*(stage for stage, _ in _STAGES), LOOP, OTHER]

_BOTTOM = ("/asyncio/runners.py", "/uvloop/")
"""What runs the event loop: below it nothing belongs to a request."""

_BEGIN = "Stack (most recent call first):"
_FILE = re.compile(r'^  File "([^"]+)"')


def stage_of(files: Iterable[str]) -> str:
    """`files`: of a stack's frames, innermost first, those of this repository relative to its root."""
    for depth, file in enumerate(files):
        if any(part in file for part in _BOTTOM):
            # Right above it: the loop's own C code, which has no frames.
            return OTHER if depth else LOOP
        for stage, parts in _STAGES:
            if any(part in file for part in parts):
                return stage
    return OTHER


def count(lines: Iterable[str], root: str) -> Counter[str]:
    """Samples by stage of what faulthandler wrote."""
    found: Counter[str] = Counter()
    for stack in _stacks(lines):
        found[stage_of(file.removeprefix(root) for file in stack)] += 1
    return found


def _stacks(lines: Iterable[str]) -> Iterator[list[str]]:
    stack: list[str] | None = None
    for line in lines:
        if line.startswith(_BEGIN):
            if stack is not None:
                yield stack
            stack = []
        elif stack is not None and (frame := _FILE.match(line)):
            stack.append(frame[1])
    if stack is not None:
        yield stack
