"""What setup.cfg promises of the installation."""

import configparser
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", ["quotaapi", "admission", "storage", "apis"])
def test_packages_with_such_plain_names_are_those_of_this_repository(package: str) -> None:
    found = importlib.import_module(package).__file__

    assert found is not None
    assert Path(found).is_relative_to(ROOT)


def requirements() -> list[str]:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    blocks = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    unbounded = [line for line in requirements() if ">=" not in line or "<" not in line]

    assert requirements()
    assert unbounded == []
