"""Other releases of the server, made from this tree: alike, but for the format of their records.

`THIS`     what is in the tree
`NEXT`     reads the next format besides, and writes as this one does
`AFTER`    reads both, and writes the next format

In the next format a header has the charge under another name: who takes it for the present one
finds nothing charged.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from storage.etcd.records import READABLE, WRITTEN
from tests.harness.server import ROOT

PACKAGES = ("apis", "admission", "storage", "quotaapi")
NEXT_FORMAT = max(READABLE) + 1
START = "import sys\n\nfrom quotaapi.__main__ import main\n\nsys.exit(main())\n"


@dataclass(frozen=True, slots=True)
class Release:
    """`program`: what Python runs."""

    name: str
    written: int
    program: Sequence[str]


THIS = Release("this", WRITTEN, ("-m", "quotaapi"))


def next_release(directory: Path) -> Release:
    return _made(directory, "next", written=WRITTEN)


def release_after_next(directory: Path) -> Release:
    return _made(directory, "after", written=NEXT_FORMAT)


def _made(directory: Path, name: str, *, written: int) -> Release:
    tree = directory / name
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    start = tree / "start.py"
    start.write_text(START)
    records = tree / "storage" / "etcd" / "records.py"
    text = records.read_text()
    for old, new in (
        (f"\nREADABLE = {READABLE}\n", f"\nREADABLE = {(*READABLE, NEXT_FORMAT)}\n"),
        (f"\nWRITTEN = {WRITTEN}\n", f"\nWRITTEN = {written}\n"),
        ('frozenset({"v", "p", "t", "charge",', 'frozenset({"v", "p", "t", "sum", "charge",'),
        ('Header(fields.get("charge"),', 'Header(fields.get("sum", fields.get("charge")),'),
        *((('("charge", None', '("sum", None'),) if written == NEXT_FORMAT else ()),
    ):
        assert text.count(old) == 1, f"{records} has changed: {old}"
        text = text.replace(old, new)
    records.write_text(text)
    return Release(name, written, (str(start),))
