"""`quotaapi audit`: read etcd revision by revision and check the accounts at each.

For operators as for tests: it only reads, and may run beside serving replicas. Exit code 0: all
exact; 1: something is not; 2: the history could not be read.
"""

import argparse
import asyncio
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass

from apis.meta.codec import encode
from apis.meta.keys import INTERNAL
from apis.meta.transaction import Record, Unavailable
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Violation
from storage.etcd.client import Client, tls_context
from storage.etcd.store import EtcdStore
from storage.interface import Backend, Expired, RawEvent, StorageError

SHOWN_VIOLATIONS = 20
IDLE_SECONDS = 1.0
"""After this long without an event, what was read is compared with what etcd holds."""
IDLE_ROUNDS = 30
"""So often in a row, before the history is given up."""


class Unreadable(Exception):
    """The history that was asked for cannot be read to its end."""


@dataclass(frozen=True, slots=True)
class Span:
    """Revisions, both included; 0: the oldest that etcd still has, the newest at the start."""

    first: int = 0
    last: int = 0


async def audit(
    backend: Backend, span: Span, auditor: Auditor, report: Callable[[Violation], None]
) -> Span:
    """Check every revision of a span; answers the span that was read.

    Raises Unreadable, StorageError, Unavailable.
    """
    last = span.last or await backend.current_revision()
    first = span.first or await _oldest(backend, last)
    if first > last:
        raise Unreadable(f"revision {first} is after revision {last}")
    for violation in auditor.load(first, await _everything(backend, first)):
        report(violation)
    await _follow(backend, Span(first, last), auditor, report)
    return Span(first, last)


async def _oldest(backend: Backend, last: int) -> int:
    """The oldest revision that is not compacted; found by bisection, as etcd names it nowhere."""
    low, high = 1, last
    while low < high:
        middle = (low + high) // 2
        try:
            await backend.range("", limit=1, revision=middle)
        except Expired:
            low = middle + 1
        else:
            high = middle
    return low


async def _everything(backend: Backend, revision: int) -> Sequence[Record]:
    return (await backend.range("", revision=revision)).records


async def _follow(
    backend: Backend, span: Span, auditor: Auditor, report: Callable[[Violation], None]
) -> None:
    """Apply every revision after the first to the last.

    Other users of the etcd move its revision without an event here, so that the last revision
    may never be seen: the end is also where nothing more comes and what was read equals what etcd
    holds at the last revision.
    """
    reached, idle = span.first, 0
    while reached < span.last:
        before = reached
        # A silent watch is closed, for a later one to go on where it stopped.
        async with aclosing(_history(backend, reached)) as history:
            async for revision, events in history:
                if revision > span.last:
                    return
                reached = max(reached, revision)
                if events:
                    for violation in auditor.apply(revision, [(e.key, e.record) for e in events]):
                        report(violation)
                if reached == span.last:
                    return
        if await _is_complete(backend, span.last, auditor):
            return
        idle = idle + 1 if reached == before else 0
        if idle == IDLE_ROUNDS:
            raise Unreadable(f"no history after revision {reached}")


async def _history(
    backend: Backend, after: int
) -> AsyncGenerator[tuple[int, Sequence[RawEvent]], None]:
    """The events after a revision, until none has come for a while."""
    events = backend.events(after)
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                batch = await anext(events)
        except (TimeoutError, StopAsyncIteration):
            return
        yield batch


async def _is_complete(backend: Backend, last: int, auditor: Auditor) -> bool:
    stored = {r.key: r.mod_revision for r in await _everything(backend, last)}
    read = auditor.versions
    return _without_internal(stored) == _without_internal(read)


def _without_internal(versions: dict[str, int]) -> dict[str, int]:
    return {key: v for key, v in versions.items() if not key.startswith(INTERNAL)}


@asynccontextmanager
async def open_backend(
    endpoints: Sequence[str], *, prefix: str = "/registry", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Backend]:
    client = Client(endpoints, tls=tls)
    try:
        yield EtcdStore(client, prefix=prefix)
    finally:
        await client.close()


def run(arguments: Sequence[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser("quotaapi audit", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--etcd-servers", required=True, help="comma-separated URLs")
    parser.add_argument("--etcd-prefix", default="/registry")
    parser.add_argument("--etcd-cafile", default="")
    parser.add_argument("--etcd-certfile", default="")
    parser.add_argument("--etcd-keyfile", default="")
    parser.add_argument("--from-revision", type=int, default=0, help="default: the oldest there is")
    parser.add_argument("--to-revision", type=int, default=0, help="default: the newest")
    parser.add_argument(
        "--growth",
        action="store_true",
        help="also report revisions that raised a usage to more than its limit",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    return asyncio.run(_run(parser.parse_args(arguments)))


async def _run(options: argparse.Namespace) -> int:
    auditor = Auditor(growth=options.growth)
    violations: list[Violation] = []

    def report(violation: Violation) -> None:
        if len(violations) < SHOWN_VIOLATIONS:
            violations.append(violation)

    try:
        endpoints = options.etcd_servers.split(",")
        async with open_backend(
            endpoints, prefix=options.etcd_prefix, tls=_tls(options)
        ) as backend:
            span = Span(options.from_revision, options.to_revision)
            span = await audit(backend, span, auditor, report)
    except (Unreadable, StorageError, Unavailable) as error:
        print(f"quotaapi audit: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    _print(span, auditor, violations, as_json=options.json)
    return 1 if violations else 0


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    if not (options.etcd_cafile or options.etcd_certfile):
        return None
    return tls_context(
        ca_file=options.etcd_cafile,
        cert_file=options.etcd_certfile,
        key_file=options.etcd_keyfile,
    )


def _print(span: Span, auditor: Auditor, violations: Sequence[Violation], *, as_json: bool) -> None:
    statistics, accounts = auditor.statistics, auditor.accounts
    if as_json:
        result = {
            "firstRevision": span.first,
            "lastRevision": span.last,
            **asdict(statistics),
            "objects": len(auditor.versions),
            "quotas": len(accounts.quotas),
            "shoots": len(accounts.shoots),
            "firstViolations": [asdict(violation) for violation in violations],
        }
        print(encode(result).decode())
        return
    for violation in violations:
        print(violation)
    if statistics.violations > len(violations):
        print(f"... and {statistics.violations - len(violations)} more")
    verdict = f"{statistics.violations} violations" if violations else "exact"
    print(
        f"{verdict}: {statistics.revisions} revisions ({span.first} to {span.last}), "
        f"{statistics.changes} changes, {statistics.checks} checks; at the end "
        f"{len(auditor.versions)} keys, {len(accounts.quotas)} quotas, {len(accounts.shoots)} shoots"
    )
