import pytest

from apis.meta.quantity import MAX_LENGTH, Quantity, canonical, coerce, nanos_of, text_of
from tests.pace import times_longer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1024Gi", "1Ti"),
        ("0.5", "500m"),
        ("1000k", "1M"),
        ("8Ei", "8Ei"),
        ("16Ei", "16Ei"),
        ("100000E", "100000E"),
        ("9223372036854775808Ki", "8192Ei"),
        ("+1", "1"),
        ("5.", "5"),
        ("1e+3", "1e3"),
        ("1E3", "1e3"),
        ("-0", "0"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1e-300", "1e-9"),
        ("1023Ki", "1023Ki"),
        ("1023", "1023"),
        ("0.5Ki", "512"),
    ],
)
def test_canonical_text_is_exact_without_limits_of_int64(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " ", "k", "Ki", "1e", "1e1e1", "1KiB", "one", "1\n", "\u0661", "1e1.5", "0x1", "1 Gi"],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "1e999999999", "1e-999999999", "1E301", "9" * 10_000, f"0.{'1' * 10_000}", "1e" + "9" * 10_000,
        "1" * (MAX_LENGTH + 1),
    ],
)  # fmt: skip
def test_absurd_input_is_refused_at_once(text: str) -> None:
    def refused() -> None:
        with pytest.raises(ValueError, match="quantit"):
            nanos_of(text)

    assert times_longer(refused, lambda: [Quantity.parse("1234.5Gi") for _ in range(1000)]) < 5


def test_the_largest_accepted_quantity_is_exact() -> None:
    text = f"{'9' * 250}e300"
    assert nanos_of(text) == int("9" * 250) * 10**309
    assert canonical(text) == text


def test_a_sum_has_the_format_of_its_left_operand() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1G")) == "2073741824"
    assert str(Quantity.parse("1Gi") + Quantity.parse("1024Mi")) == "2Gi"


def test_a_zero_takes_the_format_of_what_is_added() -> None:
    assert str(Quantity.parse("0") + Quantity.parse("2048Mi")) == "2Gi"


def test_quantities_are_equal_whatever_their_format() -> None:
    assert Quantity.parse("1024") == Quantity.parse("1Ki")
    assert len({Quantity.parse("1024"), Quantity.parse("1Ki"), Quantity.parse("1.024k")}) == 1
    assert Quantity.parse("1") != "1"


def test_text_of_writes_each_format() -> None:
    nanos = nanos_of("1Ti")
    assert text_of(nanos, "BinarySI") == "1Ti"
    assert text_of(nanos, "DecimalSI") == "1099511627776"
    assert text_of(nanos_of("5k"), "DecimalExponent") == "5e3"
    assert text_of(0, "DecimalExponent") == "0"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1Gi", "1Gi"), ("nonsense", "nonsense"), (3, "3"), (0.5, "0.5"), (1e21, "1e+21"),
        (True, None), (None, None), ([], None), ({}, None), (float("inf"), None),
    ],
)  # fmt: skip
def test_numbers_are_accepted_where_a_quantity_is(value: object, expected: str | None) -> None:
    assert coerce(value) == expected


def test_every_finite_number_that_is_coerced_parses() -> None:
    for value in (0.1, 1e21, 1e-7, 1.5e300, -2.5, 2**63):
        text = coerce(value)
        assert text is not None
        assert nanos_of(text) != 0
