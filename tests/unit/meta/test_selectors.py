import pytest

from apis.meta.selectors import FieldSelector, LabelSelector

SUPPORTED = ("metadata.name", "metadata.namespace")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a in (1,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("a,!", "unable to parse requirement: found '', expected: identifier"),
        ("a=>1", "unable to parse requirement: found '>', expected: identifier"),
    ],
)
def test_what_is_no_label_selector_is_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        LabelSelector.parse(text)
    assert str(refusal.value) == message


def test_all_faults_of_a_requirement_are_reported() -> None:
    with pytest.raises(ValueError, match=r"\[values\[0\]: .*, values\[0\]\[a\]: .*\]"):
        LabelSelector.parse("a>-")


@pytest.mark.parametrize(
    ("selector", "value", "expected"),
    [
        ("n>5", "6", True), ("n>5", "5", False), ("n<5", "-7", True), ("n<5", "x", False),
        ("n>5", "99999999999999999999", False), ("n>5", "+6", True), ("n>5", "", False),
    ],
)  # fmt: skip
def test_comparisons_are_of_64_bit_integers(selector: str, value: str, expected: bool) -> None:
    assert LabelSelector.parse(selector).matches({"n": value}) is expected


def test_requirements_are_joined_by_and() -> None:
    selector = LabelSelector.parse("a,b in (x,y),c!=1")
    assert selector.matches({"a": "", "b": "y"})
    assert not selector.matches({"a": "", "b": "y", "c": "1"})
    assert not selector.matches({"b": "y"})


def test_an_empty_selector_says_so_and_matches_everything() -> None:
    assert LabelSelector.parse(" ").empty
    assert LabelSelector.parse("").matches({})
    assert FieldSelector.parse("", SUPPORTED).empty
    assert FieldSelector.parse(",", SUPPORTED).matches({})
    assert not LabelSelector.parse("a").empty


def test_an_unsupported_field_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^field label not supported: spec\.bogus$"):
        FieldSelector.parse("spec.bogus=1", SUPPORTED)


def test_an_invalid_escape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^invalid field selector: invalid escape sequence: \\n$"):
        FieldSelector.parse(r"metadata.name=a\n", SUPPORTED)


def test_escaped_values_match_unescaped_ones() -> None:
    selector = FieldSelector.parse(r"metadata.name=a\,b\=c\\d", SUPPORTED)
    assert selector.matches({"metadata.name": r"a,b=c\d"})
    assert str(selector) == r"metadata.name=a\,b\=c\\d"


def test_an_absent_field_is_the_empty_text() -> None:
    assert FieldSelector.parse("metadata.namespace=", SUPPORTED).matches({})


def test_exact_is_the_value_that_a_field_must_have() -> None:
    selector = FieldSelector.parse("metadata.name==a,metadata.namespace!=b", SUPPORTED)
    assert selector.exact("metadata.name") == "a"
    assert selector.exact("metadata.namespace") is None


def test_long_selectors_take_linear_time() -> None:
    text = ",".join(f"k{i} in ({','.join(f'v{j}' for j in range(50))})" for i in range(50))
    assert str(LabelSelector.parse(text)).startswith("k0 in (v0,v1,v10,")
    with pytest.raises(ValueError, match="expected"):
        LabelSelector.parse("(" * 8000)
