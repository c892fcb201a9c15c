"""What a section of the page is made of, and the page itself.

docs/performance.md is written by hand, except for the blocks between `<!-- measured:NAME -->` and
`<!-- end:NAME -->`, which are replaced; pictures lie in the folder beside it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hack.bench.plots import number

PICTURES = "performance"


class PageError(Exception):
    """The page's marks do not match what is to be written."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target and what came of it. `at_most`: whether less is better."""

    what: str
    target: float
    measured: float
    unit: str = ""
    at_most: bool = False

    @property
    def reached(self) -> bool:
        return self.measured <= self.target if self.at_most else self.measured >= self.target

    def cells(self) -> list[str]:
        sign = "≤" if self.at_most else "≥"
        unit = f" {self.unit}" if self.unit else ""
        return [
            self.what,
            f"{sign} {number(self.target)}{unit}",
            f"{number(self.measured)}{unit}",
            "reached" if self.reached else f"**missed**: {self._how_far()}",
        ]

    def _how_far(self) -> str:
        if not self.target:
            return f"{number(self.measured)} too many"
        return f"{abs(self.measured / self.target - 1):.0%} {'above' if self.at_most else 'below'}"


@dataclass(frozen=True, slots=True)
class Report:
    """A section's block, without its heading. `pictures`: file name -> SVG."""

    text: str
    verdicts: Sequence[Verdict] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)


def table(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown; the first column is text, the others are numbers."""
    rule = ["---", *("---:" for _ in heading[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heading, rule, *lines))


def picture(name: str, alternative: str) -> str:
    return f"![{alternative}]({PICTURES}/{name})"


def verdicts(found: Sequence[Verdict]) -> str:
    rule = "| target | | measured | |\n| --- | ---: | ---: | --- |"
    return "\n".join([rule, *(f"| {' | '.join(verdict.cells())} |" for verdict in found)])


def with_blocks(page: str, blocks: Mapping[str, str]) -> str:
    """`page` with these blocks replaced; all that stands outside of them is kept.

    Raises PageError where one of them has not exactly one place.
    """
    for name, text in blocks.items():
        begin, end = f"<!-- measured:{name} -->", f"<!-- end:{name} -->"
        pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
        if len(pattern.findall(page)) != 1 or page.count(begin) != 1 or page.count(end) != 1:
            raise PageError(f"the page needs {begin} and {end}, once each, in this order")
        block = f"{begin}\n\n{text.strip()}\n\n{end}"
        page = pattern.sub(lambda _found, block=block: block, page)  # type: ignore[misc]
    return page


def blocks_of(page: str) -> list[str]:
    """Names of the blocks of a page, in its order."""
    return re.findall(r"<!-- measured:(\S+) -->", page)


def write(page: Path, blocks: Mapping[str, str], pictures: Mapping[str, str]) -> None:
    text = with_blocks(page.read_text(), blocks)
    folder = page.parent / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in pictures.items():
        (folder / name).write_text(svg)
    page.write_text(text)
