from contextlib import suppress
from fractions import Fraction
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from apis.meta.quantity import NANOS, Format, Quantity, canonical, nanos_of, text_of

nanos = st.one_of(
    st.integers(-(10**40), 10**40),
    st.integers(-(10**6), 10**6).map(lambda n: n * NANOS),
    st.integers(-(10**6), 10**6).map(lambda n: n * NANOS * 1024**3),
)
formats = st.sampled_from(get_args(Format))
quantities = st.builds(Quantity, nanos, formats)
digits = st.text("0123456789", max_size=20)
texts = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    digits.filter(bool),
    digits.map(lambda text: f".{text}"),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi"])
    | st.integers(-30, 30).map(lambda e: f"e{e}"),
)

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def value_of(text: str) -> Fraction:
    """The value by another way: fractions, suffix by suffix."""
    number = text.rstrip("numkKMGTPEi")
    suffix = text[len(number) :]
    if suffix.endswith("i"):
        return Fraction(number) * (1 << 10 * ("KMGTP".index(suffix[0]) + 1))
    return Fraction(number) * Fraction(int(10 ** (DECIMAL[suffix] + 9)), NANOS)


@given(quantities)
def test_canonical_text_parses_to_the_same_value(quantity: Quantity) -> None:
    assert nanos_of(str(quantity)) == quantity.nanos


@given(quantities)
def test_canonical_text_is_written_once(quantity: Quantity) -> None:
    """Within its format. A binary quantity that is written without a suffix reads as decimal."""
    text = str(quantity)
    assert text_of(nanos_of(text), quantity.format) == text
    assert Quantity.parse(canonical(text)) == quantity


@given(texts)
def test_parsing_is_exact_and_rounds_away_from_zero(text: str) -> None:
    exact = value_of(text) * NANOS
    got = nanos_of(text)
    assert abs(exact) <= abs(got) < abs(exact) + 1
    assert (got < 0) == (exact < 0)


@given(quantities, quantities)
def test_a_sum_is_exact_and_its_difference_gives_back(a: Quantity, b: Quantity) -> None:
    assert (a + b).nanos == a.nanos + b.nanos
    assert (a + b) - b == a
    assert a - b == Quantity(0) - (b - a)


@given(quantities, quantities)
def test_order_is_the_order_of_values(a: Quantity, b: Quantity) -> None:
    assert (a < b, a <= b, a > b, a >= b, a == b) == (
        a.nanos < b.nanos, a.nanos <= b.nanos, a.nanos > b.nanos, a.nanos >= b.nanos,
        a.nanos == b.nanos,
    )  # fmt: skip


@given(nanos, formats)
def test_no_shorter_suffix_is_left_over(value: int, form: Format) -> None:
    """The largest suffix that leaves an integer: text never ends in zeros that a suffix says."""
    text = text_of(value, form)
    number = text.rstrip("numkKMGTPEi").partition("e")[0]
    binary = form == "BinarySI" and abs(value) >= 1024 * NANOS and value % NANOS == 0
    if value and not text.endswith(("E", "Ei")):
        assert int(number) % (1024 if binary else 1000)


@given(st.text(max_size=40))
def test_any_text_parses_or_is_a_value_error(text: str) -> None:
    with suppress(ValueError):
        nanos_of(text)
