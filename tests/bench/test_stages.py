"""A profiled server may end at any moment: its slice is taken again."""

from collections import Counter
from pathlib import Path

import pytest

from hack.bench import stages, wrk
from hack.bench.installation import Bench, Populations
from hack.bench.scale import SHORT

FAULTS = (AssertionError("the server is not ready"), wrk.LoadError("connection refused"))


@pytest.mark.parametrize("fault", FAULTS, ids=["while it starts", "under load"])
def test_a_slice_that_did_not_live_is_taken_again(fault, monkeypatch, tmp_path: Path) -> None:
    faults = [fault]

    def take(_: Bench) -> "Counter[str]":
        if faults:
            raise faults.pop()
        return Counter(HTTP=3)

    monkeypatch.setattr(stages, "_slice", take)

    assert stages._samples(bench(tmp_path)) == Counter(HTTP=3)


def test_it_is_told_where_none_lives(monkeypatch, tmp_path: Path) -> None:
    def take(_: Bench) -> "Counter[str]":
        raise wrk.LoadError("connection refused")

    monkeypatch.setattr(stages, "_slice", take)

    with pytest.raises(wrk.LoadError):
        stages._samples(bench(tmp_path))


def bench(directory: Path) -> Bench:
    return Bench(SHORT, Populations(directory), lambda _: None)
