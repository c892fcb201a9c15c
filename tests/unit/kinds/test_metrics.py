"""Names of metrics."""

import pytest

from apis.garden.v1beta1.metrics import canonical_metric, format_of


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("cpu", "cpu"),
        ("cpus", "cpu"),
        ("gpus", "gpu"),
        ("memory", "memory"),
        ("storage.premium", "storage.premium"),
        ("disk.premium", "storage.premium"),
        ("storage.ssd.v2", "storage.ssd.v2"),
        ("pvc.basic", "pvc.basic"),
        ("loadbalancers", "loadbalancer"),
        ("machines", "machines"),
        ("shoots", "shoots"),
    ],
)
def test_a_known_name_has_one_canonical_form(name: str, canonical: str) -> None:
    assert canonical_metric(name) == canonical


@pytest.mark.parametrize(
    "name",
    ["", "CPU", "pods", "storage", "storage.", "disk", "pvc.", "cpu.x", "storage.a b", "storage.<class>",
     "storage.x\n", "machine"],
)  # fmt: skip
def test_a_name_that_nobody_counts_is_unknown(name: str) -> None:
    assert canonical_metric(name) is None


@pytest.mark.parametrize(
    ("metric", "format_"),
    [
        ("memory", "BinarySI"),
        ("storage.x", "BinarySI"),
        ("disk.x", "BinarySI"),
        ("pvc.x", "BinarySI"),
        ("cpu", "DecimalSI"),
        ("machines", "DecimalSI"),
    ],
)
def test_bytes_are_counted_in_powers_of_two(metric: str, format_: str) -> None:
    assert format_of(metric) == format_
