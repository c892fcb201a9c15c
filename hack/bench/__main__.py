"""`hack/bench/run`: measure, keep the results, write the page."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from apis.meta.codec import decode_json, encode
from hack.bench import (
    admission,
    batching,
    cores,
    creates,
    flat,
    machine,
    reads,
    size,
    stages,
    watches,
)
from hack.bench.installation import Bench, Populations
from hack.bench.report import PICTURES, Report, verdicts, write
from hack.bench.scale import FULL, SHORT

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = "performance.md"
RESULTS = "results.json"


class Section(Protocol):
    """A module of this package. Results are JSON, so that the page can be written without measuring."""

    NAME: str

    def measure(self, bench: Bench) -> Any: ...

    def report(self, results: Any) -> Report: ...


SECTIONS: Mapping[str, Section] = {
    section.NAME: section
    for section in (creates, stages, flat, admission, reads, watches, size, cores, batching)
}
"""In the order of the page."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if shutil.which("wrk") is None:
        print("hack/bench/run: wrk is needed (Debian: apt-get install wrk)", file=sys.stderr)
        return 1
    output = options.output or (_elsewhere() if options.short else DOCS)
    page, results = output / PAGE, output / PICTURES / RESULTS
    if not page.exists():
        output.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(DOCS / PAGE, page)
    results.parent.mkdir(parents=True, exist_ok=True)
    kept = decode_json(results.read_bytes()).value if results.exists() else {}
    if options.page_only and not kept:
        print(f"hack/bench/run: there are no results in {results}", file=sys.stderr)
        return 1
    if not options.page_only:
        names, before = options.only or list(SECTIONS), kept
        for kept in _measured(names, before, short=options.short):
            # After each section: one that fails after a quarter of an hour loses no other's results.
            results.write_bytes(encode(kept) + b"\n")
    _write(page, kept)
    print(f"written: {page}", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("hack/bench/run", description=__doc__)
    add = parser.add_argument
    add("--short", action="store_true", help="seconds, to see that it works; writes no docs")
    add("--only", action="append", choices=list(SECTIONS), help="repeatable (default: all)")
    add("--output", type=Path, metavar="DIR", help=f"of {PAGE} and its folder (default: docs)")
    add(
        "--page-only", action="store_true", help="measure nothing, write the results that are there"
    )
    return parser


def _elsewhere() -> Path:
    return Path(tempfile.mkdtemp(prefix="quotaapi-bench-page-"))


def _measured(
    names: Sequence[str], kept: Mapping[str, Any], *, short: bool
) -> Iterator[Mapping[str, Any]]:
    """The results after each section, with those kept of an earlier run on this very machine."""
    facts = dict(machine.facts())
    found = dict(kept["sections"]) if kept.get("machine") == facts else {}
    with tempfile.TemporaryDirectory(prefix="quotaapi-bench-") as directory:
        populations = Populations(Path(directory))
        for name in names:
            begin = time.perf_counter()
            print(f"== {name}", flush=True)
            bench = Bench(
                SHORT if short else FULL, populations, lambda text: print(text, flush=True)
            )
            found[name] = SECTIONS[name].measure(bench)
            print(f"== {name}: {time.perf_counter() - begin:.0f} s", flush=True)
            yield {"machine": facts, "sections": found}


def _write(page: Path, kept: Mapping[str, Any]) -> None:
    """The sections that there are results of; the others' blocks stay as they are."""
    found = kept["sections"]
    reports = {name: SECTIONS[name].report(found[name]) for name in SECTIONS if name in found}
    every = [verdict for report in reports.values() for verdict in report.verdicts]
    blocks = {name: report.text for name, report in reports.items()}
    blocks |= {"machine": machine.described(kept["machine"]), "targets": verdicts(every)}
    pictures = {name: svg for report in reports.values() for name, svg in report.pictures.items()}
    write(page, blocks, pictures)


if __name__ == "__main__":
    sys.exit(main())
