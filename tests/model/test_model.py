"""The protocol's models (docs/model): the whole one holds, and what lacks a part is caught."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "docs" / "model" / "check"

LACKING = [
    name
    for name, found in (
        ("spin", shutil.which("spin")),
        ("a C compiler", shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")),
    )
    if not found
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {' and '.join(LACKING)}"),
]


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHECK), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", check("--list").stdout.split())
def test_the_model_ends_as_expected(name: str) -> None:
    done = check(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"as expected: {name} ")


def test_every_property_has_a_broken_model_that_violates_it() -> None:
    listed = check("--properties").stdout.splitlines()
    assert listed
    assert [line for line in listed if line.endswith(": nothing")] == []
