"""What k8s.io/apimachinery answers, in full, but for quirks that are excluded by rule."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from apis.meta.quantity import NANOS, Quantity
from tests.shared_material import shared

Vectors = dict[str, list[dict[str, Any]]]

LARGEST_EXACT = 8 * 1024**6 * NANOS
"""apimachinery saturates binary quantities from here on."""


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    loaded: Vectors = orjson.loads(shared("vectors/apimachinery.json").read_bytes())
    return loaded


def saturates(text: str) -> bool:
    quantity = Quantity.parse(text)
    return quantity.format == "BinarySI" and abs(quantity.nanos) >= LARGEST_EXACT


def keeps_input(row: dict[str, Any]) -> bool:
    """The canonical text differs from the rule only because the input was kept."""
    return bool(row["canonical"] == row["in"] != str(Quantity.parse(row["in"])))


def loses_suffix(row: dict[str, Any]) -> bool:
    """The canonical text is not even of the same value: an overflowed exponent."""
    return Quantity.parse(row["canonical"]).nanos != Decimal(row["decimal"]) * NANOS


def test_every_input_is_accepted_or_refused_alike(vectors: Vectors) -> None:
    for row in vectors["quantities"]:
        if row["ok"]:
            Quantity.parse(row["in"])
        else:
            with pytest.raises(ValueError, match=r".") as refusal:
                Quantity.parse(row["in"])
            assert str(refusal.value) == row["error"], row


def test_every_accepted_input_has_the_same_value_format_and_canonical_text(
    vectors: Vectors,
) -> None:
    excluded = {"saturated": 0, "kept input": 0, "lost suffix": 0}
    compared = 0
    for row in vectors["quantities"]:
        if not row["ok"]:
            continue
        quantity = Quantity.parse(row["in"])
        assert quantity.format == row["format"], row
        if saturates(row["in"]):
            excluded["saturated"] += 1
            continue
        assert quantity.nanos == Decimal(row["decimal"]) * NANOS, row
        if keeps_input(row):
            excluded["kept input"] += 1
        elif loses_suffix(row):
            excluded["lost suffix"] += 1
        else:
            assert str(quantity) == row["canonical"], row
            compared += 1
    print(f"quantities compared in full: {compared}, excluded: {excluded}")  # noqa: T201 - the report
    assert excluded == {"saturated": 37, "kept input": 104, "lost suffix": 1}


def test_every_sum_difference_and_comparison_is_the_same(vectors: Vectors) -> None:
    excluded = 0
    for row in vectors["arithmetic"]:
        if saturates(row["A"]) or saturates(row["B"]):
            excluded += 1
            continue
        a, b = Quantity.parse(row["A"]), Quantity.parse(row["B"])
        got = (str(a + b), str(a - b), (a > b) - (a < b))
        assert got == (row["Sum"], row["Diff"], row["Cmp"]), row
    compared = len(vectors["arithmetic"]) - excluded
    print(f"sums compared: {compared}, excluded as saturated: {excluded}")  # noqa: T201 - the report
    assert (compared, excluded) == (350, 50)
