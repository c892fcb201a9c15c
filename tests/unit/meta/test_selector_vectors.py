"""What k8s.io/apimachinery accepts as a selector, how it reads it back, what it matches."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import orjson
import pytest

from apis.meta.selectors import FieldSelector, LabelSelector
from tests.shared_material import shared


class Selector(Protocol):
    @property
    def matches(self) -> Callable[[Mapping[str, str]], bool]: ...


def fields(text: str) -> FieldSelector:
    return FieldSelector.parse(text, ("", "a", "metadata.name", "metadata.namespace"))


@pytest.mark.parametrize(
    ("rows", "sets", "parse"),
    [
        ("labelSelectors", "labelSets", LabelSelector.parse),
        ("fieldSelectors", "fieldSets", fields),
    ],
)
def test_every_vector(rows: str, sets: str, parse: Callable[[str], Selector]) -> None:
    vectors: dict[str, Any] = orjson.loads(shared("vectors/apimachinery.json").read_bytes())
    for row in vectors[rows]:
        if not row["ok"]:
            with pytest.raises(ValueError, match=r".") as refusal:
                parse(row["selector"])
            assert str(refusal.value) == row["error"]
            continue
        selector = parse(row["selector"])
        assert str(selector) == row["canonical"]
        for name, expected in row["matches"].items():
            assert selector.matches(vectors[sets][name]) is expected, (row, name)
