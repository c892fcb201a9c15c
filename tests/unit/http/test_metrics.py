"""Prometheus' text format."""

from quotaapi.endpoints.metrics import Family, counter, gauge, render


def test_families_are_rendered_with_help_type_and_samples() -> None:
    text = render([counter("a_total", "How many.", 3), gauge("b", "How much.", 0.5)])

    assert text == (
        "# HELP a_total How many.\n# TYPE a_total counter\na_total 3\n"
        "# HELP b How much.\n# TYPE b gauge\nb 0.5\n"
    )


def test_label_values_are_escaped() -> None:
    family = Family("x", "gauge", "x", {(("name", 'a"b\\c\nd'),): 1.0})

    assert 'x{name="a\\"b\\\\c\\nd"} 1' in render([family])
