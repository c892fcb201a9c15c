"""Recorded material that lies beside the repository: `<repository>/../shared`."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(path: str) -> Path:
    """The file or directory `path` below the shared material.

    Where it is missing the calling test is skipped and says so; under CI (environment variable
    CI set to anything) it fails, because a check that silently does not run is no check.
    """
    found = SHARED / path
    if not found.exists():
        reason = f"shared material is missing: {found}"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found
