"""The benchmarks work: they run, and the page that they write is whole. No time is asserted.

Run as a process, as `hack/bench/run` does it.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from apis.meta.codec import decode_json
from tests.harness.server import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = ROOT / "docs" / "performance.md"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a short run of everything writes."""
    if shutil.which("wrk") is None:
        pytest.skip("no wrk here")
    directory = tmp_path_factory.mktemp("bench")
    run(directory, "--short")
    return directory / "performance.md"


def run(directory: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hack.bench", "--output", str(directory), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def blocks(text: str) -> dict[str, str]:
    found = re.findall(r"<!-- measured:(\S+) -->\n(.*?)<!-- end:\1 -->", text, re.DOTALL)
    return dict(found)


def test_a_short_run_fills_every_block_of_the_page(page: Path) -> None:
    written, told = blocks(page.read_text()), blocks(PAGE.read_text())
    assert written.keys() == told.keys()
    assert [name for name, text in written.items() if "|" not in text] == []


def test_every_target_has_a_measured_value_and_a_verdict(page: Path) -> None:
    lines = [line for line in blocks(page.read_text())["targets"].splitlines() if line][2:]
    assert len(lines) > 10
    for line in lines:
        _, what, target, measured, verdict, _ = (cell.strip() for cell in line.split("|"))
        assert what
        assert target[0] in "≤≥"
        assert re.search(r"\d", measured)
        assert verdict == "reached" or verdict.startswith("**missed**")


def test_what_people_wrote_on_the_page_survives(page: Path) -> None:
    def prose(text: str) -> str:
        return re.sub(r"(<!-- measured:\S+ -->).*?(<!-- end)", r"\1\2", text, flags=re.DOTALL)

    assert prose(page.read_text()) == prose(PAGE.read_text())


def test_every_picture_is_there_and_is_well_formed(page: Path) -> None:
    named = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text())
    assert len(named) >= 8
    for name in named:
        root = ElementTree.parse(page.parent / name).getroot()
        assert root.tag.endswith("svg")
        assert len(root.findall("{*}text")) > 3


def test_the_page_is_written_again_from_the_results_alone(page: Path, tmp_path: Path) -> None:
    again = tmp_path / "performance.md"
    shutil.copyfile(PAGE, again)
    (tmp_path / "performance").mkdir()
    results = page.parent / "performance" / "results.json"
    shutil.copyfile(results, tmp_path / "performance" / "results.json")
    run(tmp_path, "--page-only")
    assert again.read_text() == page.read_text()
    assert decode_json(results.read_bytes()).value["machine"]["cores"]
