from pathlib import Path

import pytest

from storage.etcd.durability import answers_before_it_is_durable, weakness_of


@pytest.mark.parametrize(
    ("version", "weak"),
    [
        ((3, 4, 20), True),
        ((3, 4, 21), False),
        ((3, 5, 1), True),
        ((3, 5, 4), True),
        ((3, 5, 5), False),
        ((3, 6, 0), False),
    ],
)
def test_the_mended_versions_are_trusted(version: tuple[int, int, int], weak: bool) -> None:
    assert answers_before_it_is_durable(version) is weak


async def test_a_weak_etcd_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "etcd"
    binary.write_text("#!/bin/sh\necho etcd Version: 3.5.1\necho Git SHA: e8732fb5f\n")
    binary.chmod(0o755)

    assert "etcd 3.5.1 may lose its last answered write" in await weakness_of(str(binary))


async def test_what_does_not_say_its_version_is_not_judged(tmp_path: Path) -> None:
    binary = tmp_path / "etcd"
    binary.write_text("#!/bin/sh\nexit 1\n")
    binary.chmod(0o755)

    assert await weakness_of(str(binary)) == ""
