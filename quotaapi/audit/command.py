"""The command line of `quotaapi audit`."""

import argparse
import asyncio
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

from apis.meta.codec import encode
from apis.meta.transaction import Unavailable
from quotaapi.audit.history import Span, Unreadable, audit
from quotaapi.audit.sources import embedded_endpoint, open_backend
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Violation
from quotaapi.commandline import Parser, whole
from storage.etcd.client import tls_context
from storage.interface import Backend, StorageError

SHOWN_VIOLATIONS = 20
DESCRIPTION = (
    "Read etcd revision by revision and check at each that every quota's and every ledger's sum "
    "is exact. Only reads; may run beside serving replicas. Exit code 0: exact, 1: not, "
    "2: no verdict, since the history could not be read or there is none."
)


def run(arguments: Sequence[str]) -> int:
    """The exit code."""
    parser = Parser("quotaapi audit", description=DESCRIPTION)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--etcd-servers", metavar="URLS", default="", help="comma separated")
    source.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        default=Path("quotaapi.data"),
        help="of a server with an etcd of its own, running or not (default ./quotaapi.data)",
    )
    add = parser.add_argument
    add("--etcd-prefix", metavar="PREFIX", default="/registry", help="default /registry")
    add("--etcd-cafile", metavar="FILE", default="", help="CA of the etcd servers")
    add("--etcd-certfile", metavar="FILE", default="", help="client certificate for etcd")
    add("--etcd-keyfile", metavar="FILE", default="", help="key of --etcd-certfile")
    add(
        "--from-revision",
        type=whole,
        metavar="N",
        default=0,
        help="default: the oldest there is",
    )
    add("--to-revision", type=whole, metavar="N", default=0, help="default: the newest")
    add(
        "--growth",
        action="store_true",
        help="also report revisions that raised a usage to more than its limit, new prices apart",
    )
    add("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    if bool(options.etcd_certfile) != bool(options.etcd_keyfile):
        parser.error("--etcd-certfile and --etcd-keyfile belong together: give both or neither")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    auditor = Auditor(growth=options.growth)
    violations: list[Violation] = []

    def report(violation: Violation) -> None:
        if len(violations) < SHOWN_VIOLATIONS:
            violations.append(violation)

    try:
        async with _open(options) as backend:
            span = Span(options.from_revision, options.to_revision)
            span = await audit(backend, span, auditor, report)
    except (Unreadable, StorageError, Unavailable, OSError) as error:
        where = options.etcd_servers or f"the etcd of {options.data_dir.absolute()}"
        print(f"quotaapi audit: {options.etcd_prefix} in {where}: {error}", file=sys.stderr)
        return 2
    _print(span, auditor, violations, as_json=options.json)
    return 1 if violations else 0


@asynccontextmanager
async def _open(options: argparse.Namespace) -> AsyncIterator[Backend]:
    prefix = options.etcd_prefix
    if options.etcd_servers:
        endpoints = options.etcd_servers.split(",")
        async with open_backend(endpoints, prefix=prefix, tls=_tls(options)) as backend:
            yield backend
        return
    async with (
        embedded_endpoint(options.data_dir) as endpoint,
        open_backend([endpoint], prefix=prefix) as backend,
    ):
        yield backend


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
