from typing import Any

import pytest

from apis.meta.gotext import go_quoted, go_syntax, go_type, go_value


@pytest.mark.parametrize(
    ("value", "plain", "syntax", "kind"),
    [
        (None, "<nil>", "interface {}(nil)", "<nil>"),
        ("a\n", "a\n", '"a\\n"', "string"),
        (True, "true", "true", "bool"),
        (3, "3", "3", "int64"),
        (1.5, "1.5", "1.5", "float64"),
        (["a", 1], "[a 1]", '[]interface {}{"a", 1}', "[]interface {}"),
        (
            {"b": [], "a": None},
            "map[a:<nil> b:[]]",
            'map[string]interface {}{"a":interface {}(nil), "b":[]interface {}{}}',
            "map[string]interface {}",
        ),
    ],
)
def test_a_value_is_told_as_go_tells_it(value: Any, plain: str, syntax: str, kind: str) -> None:
    assert (go_value(value), go_syntax(value), go_type(value)) == (plain, syntax, kind)


def test_a_long_value_is_cut() -> None:
    assert len(go_value("x" * 10_000)) < 1100


def test_texts_are_quoted_one_by_one() -> None:
    assert go_quoted(["a", 'b"']) == '["a" "b\\""]'
