import orjson
import pytest

from apis.meta import codec
from apis.meta.codec import MAX_DEPTH, DecodeError, decode_json
from tests.pace import times_longer


def refusal(data: bytes) -> str:
    with pytest.raises(DecodeError) as raised:
        decode_json(data)
    return str(raised.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b"  ", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'{"a":"', "unexpected end of JSON input"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"{}{}", "invalid character '{' after top-level value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b'{"a":\x01}', "invalid character '\\x01' looking for beginning of value"),
        (b"\xc2\x81", "invalid character '\\u0081' looking for beginning of value"),
        (b'{"a":1}\x00', "invalid character '\\x00' after top-level value"),
        (b'"a\tb"', "invalid character '\\t' in string literal"),
        (b"'a'", "invalid character '\\'' looking for beginning of value"),
        (b'["a" "b"]', "invalid character '\"' after array element"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 2}', "invalid character '2' after object key:value pair"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a":1, }', "invalid character '}' looking for beginning of object key string"),
        (b"[1,\n]", "invalid character ']' looking for beginning of value"),
    ],
)
def test_malformed_json_is_refused_in_gos_words(data: bytes, message: str) -> None:
    assert refusal(data) == message


@pytest.mark.parametrize(
    "data",
    [
        b'"\\ud800"', b'"\\ud800\\u0041"', b'"\xff"', b'"\x01"', b'"\\x"', b"01", b"1e999",
        b"-Infinity", b"\xef\xbb\xbf{}", b"tru", b"trux", b"--1", b'{"a":undefined}',
    ],
)  # fmt: skip
def test_what_no_encoder_writes_is_refused(data: bytes) -> None:
    assert refusal(data)


@pytest.mark.parametrize(
    "digits", [b"18446744073709551616", b"-9223372036854775809", b"9" * 300, b"1" * 100_000]
)
def test_integers_beyond_64_bits_are_refused(digits: bytes) -> None:
    assert refusal(b'{"a":' + digits + b"}")


def test_the_largest_integers_are_exact() -> None:
    assert decode_json(b"[18446744073709551615,-9223372036854775808]").value == [
        2**64 - 1,
        -(2**63),
    ]


def test_long_digits_in_texts_and_fractions_are_no_integers() -> None:
    data = b'{"a":"99999999999999999999999","b":0.12345678901234567890123}'
    assert decode_json(data).value["a"] == "9" * 23


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (b'{"a":1,"a":2}', ("a",)),
        (b'{"metadata":{"name":"e","name":"f"}}', ("metadata.name",)),
        (b'{"spec":{"limits":[{},{"type":1,"type":2}]}}', ("spec.limits[1].type",)),
        (b'{"a":{"x":1},"a":{"y":1,"y":2}}', ("a", "a.y")),
        (b'{"a":1,"a":1,"a":1}', ("a",)),
        (b'{"a":":","a":"\\u003a"}', ("a",)),
        (b'{"a":"\\u003A:","a":""}', ("a",)),
        (b'{"\\u0061":1,"a":2}', ("a",)),
        (b'[[{"a":1,"a":2}]]', ("[0][0].a",)),
    ],
)
def test_duplicate_fields_are_found_with_their_paths(data: bytes, paths: tuple[str, ...]) -> None:
    assert decode_json(data).duplicates == paths


def test_the_last_of_duplicate_fields_counts() -> None:
    assert decode_json(b'{"a":1,"a":2}').value == {"a": 2}


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":":::","b":{"a":"\\u003a"}}',
        b'[{"a":1},{"a":1}]',
        b'{"a":"\\"a\\":1,\\"a\\":2"}',
        b"{}",
    ],
)
def test_no_duplicates_are_found_where_there_are_none(data: bytes) -> None:
    assert decode_json(data).duplicates == ()


def test_the_number_of_reported_duplicates_is_bounded() -> None:
    data = b"{" + b",".join(b'"k%d":1,"k%d":2' % (i, i) for i in range(10_000)) + b"}"
    assert len(decode_json(data).duplicates) == 100


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_is_bounded(opening: bytes, closing: bytes) -> None:
    def nested(depth: int) -> bytes:
        return opening * depth + b"1" + closing * depth

    assert decode_json(nested(MAX_DEPTH)).value
    for depth in (MAX_DEPTH + 1, 254, 255, 1000, 1024, 1025, 10_000, 1_000_000):
        assert refusal(nested(depth)) == f"exceeded max depth of {MAX_DEPTH}"
    flat, deep = b"[" + b"1," * len(nested(250_000)) + b"1]", nested(250_000)
    assert times_longer(lambda: refusal(deep), lambda: decode_json(flat)) < 20


def test_what_is_accepted_can_be_encoded_inside_of_other_things() -> None:
    value = decode_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH).value
    for _ in range(24):
        value = [value]
    assert codec.encode(value)
    with pytest.raises(orjson.JSONEncodeError):  # the bound that MAX_DEPTH keeps clear of
        codec.encode([value])


def test_large_bodies_are_looked_at_in_linear_time() -> None:
    def body(items: int) -> bytes:
        listed = b",".join(b'{"name":"n%d","v":"x","v":"y"}' % i for i in range(items))
        return b'{"items":[' + listed + b"]}"

    many, few = body(40_000), body(4_000)
    assert len(decode_json(many).duplicates) == 100
    assert times_longer(lambda: decode_json(many), lambda: decode_json(few)) < 40


def test_encodings() -> None:
    value = {"b": 1, "a": [None, "ü"]}
    assert codec.encode(value) == '{"b":1,"a":[null,"ü"]}'.encode()
    assert codec.encode_sorted(value) == '{"a":[null,"ü"],"b":1}'.encode()
    assert codec.encode_pretty({"a": 1}) == b'{\n  "a": 1\n}\n'


def test_a_copy_shares_nothing() -> None:
    value = {"a": [{"b": 1}]}
    copied = codec.copy(value)
    copied["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}


@pytest.mark.parametrize(
    ("value", "name"),
    [({}, "object"), ([], "array"), ("", "string"), (True, "bool"), (None, "null"), (1, "number"),
     (1.5, "number")],
)  # fmt: skip
def test_types_have_gos_names(value: object, name: str) -> None:
    assert codec.json_type(value) == name
