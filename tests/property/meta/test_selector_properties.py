from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from apis.meta.selectors import FieldSelector, LabelSelector

keys = st.sampled_from(["a", "b", "x.y/c"])
values = st.sampled_from(["", "1", "2", "v", "w-1"])
label_sets = st.dictionaries(keys, values)
requirements = st.one_of(
    keys,
    keys.map("!{}".format),
    st.builds("{}{}{}".format, keys, st.sampled_from(["=", "==", "!=", " = "]), values),
    st.builds("{}{}{}".format, keys, st.sampled_from([">", "<"]), st.integers(0, 3)),
    st.builds(
        "{} {} ({})".format,
        keys,
        st.sampled_from(["in", "notin"]),
        st.lists(values, max_size=3).map(",".join),
    ),
)
selectors = st.lists(requirements, max_size=4).map(",".join)


@given(selectors, label_sets)
def test_canonical_text_means_the_same(text: str, labels: dict[str, str]) -> None:
    selector = LabelSelector.parse(text)
    again = LabelSelector.parse(str(selector))
    assert str(again) == str(selector)
    assert again.matches(labels) == selector.matches(labels)


@given(st.lists(requirements, max_size=20), label_sets)
def test_a_selector_matches_when_each_requirement_does(
    parts: list[str], labels: dict[str, str]
) -> None:
    each = [LabelSelector.parse(part).matches(labels) for part in parts]
    assert LabelSelector.parse(",".join(parts)).matches(labels) == all(each)


@given(keys, values, label_sets)
def test_negation_is_the_complement(key: str, value: str, labels: dict[str, str]) -> None:
    for positive, negative in (
        (key, f"!{key}"),
        (f"{key}={value}", f"{key}!={value}"),
        (f"{key} in ({value},v)", f"{key} notin ({value},v)"),
    ):
        assert LabelSelector.parse(positive).matches(labels) is not LabelSelector.parse(
            negative
        ).matches(labels)


@given(st.text(st.sampled_from("a1=!<>(),. /-\\\tin"), max_size=30))
def test_any_text_parses_or_is_a_value_error(text: str) -> None:
    with suppress(ValueError):
        LabelSelector.parse(text)
    with suppress(ValueError):
        FieldSelector.parse(text, ("a",))


@given(st.text(max_size=20))
def test_a_field_selector_finds_any_value_that_is_escaped(value: str) -> None:
    escaped = "".join(f"\\{c}" if c in "\\,=" else c for c in value)
    selector = FieldSelector.parse(f"metadata.name={escaped}", ("metadata.name",))
    assert selector.exact("metadata.name") == value
    assert selector.matches({"metadata.name": value})
    assert FieldSelector.parse(str(selector), ("metadata.name",)).matches({"metadata.name": value})
