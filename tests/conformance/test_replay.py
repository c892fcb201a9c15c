"""What kube-apiserver was recorded to answer, asked of this server."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from apis.meta.codec import decode_json
from tests.conformance.deviations import DEVIATIONS
from tests.harness.server import ServerProcess
from tests.shared_material import SHARED

RECORDED = SHARED / "conformance"

REPLAY_SECONDS = 240
"""Most of it are watches that run their time."""

_DIFFERENCE = re.compile(r"^HARD (\S+)\[(\d+)\] ", re.MULTILINE)
_COUNTS = re.compile(r"^(\d+) of (\d+) exchanges the same, (\d+) differ in wording", re.MULTILINE)


def exchange(*arguments: str | Path) -> str:
    script = RECORDED / "exchange.py"
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=REPLAY_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `exchange.py compare` prints."""
    if not RECORDED.exists():
        pytest.skip(f"there is nothing to replay: {RECORDED} is missing")
    golden, scenarios = RECORDED / "golden.json", RECORDED / "scenarios.py"
    directory = tmp_path_factory.mktemp("conformance")
    got, data = directory / "got.json", directory / "data"
    with ServerProcess(data) as server:
        identity = ("--cert", data / "admin.crt", "--key", data / "admin.key")
        exchange("record", server.url, got, scenarios, *identity)
    assert exchanges(got) == exchanges(golden)
    return exchange("compare", golden, got)


def exchanges(path: Path) -> int:
    return sum(map(len, decode_json(path.read_bytes()).value.values()))


def differing(compared: str) -> set[tuple[str, int]]:
    return {(scenario, int(index)) for scenario, index in _DIFFERENCE.findall(compared)}


def test_no_answer_differs_but_those_that_are_meant_to(compared: str) -> None:
    written_down = {(each.scenario, each.index) for each in DEVIATIONS}

    assert differing(compared) - written_down == set(), compared


def test_every_deviation_that_is_written_down_is_one(compared: str) -> None:
    written_down = {(each.scenario, each.index) for each in DEVIATIONS}

    assert written_down - differing(compared) == set()


def test_296_of_308_answers_are_the_same_but_for_wording(compared: str) -> None:
    counts = _COUNTS.search(compared)
    assert counts is not None, compared
    same, _, wording = map(int, counts.groups())

    assert same + wording >= 296
