import json  # noqa: TID251 - the reference: the standard library's decoder, pair by pair
from contextlib import suppress
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from apis.meta.codec import DecodeError, decode_json, decode_yaml, encode, encode_yaml

texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["yes", "n", "1e3", "0x1", "~", "<<", ":", '":', "\\u003a", "a: b", "- a", "#", "1.14.0", "1_0"]
)
printable = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


class Repeated(list[tuple[str, Any]]):
    """An object written pair by pair, so that it may say a field twice."""


def write(value: Any) -> str:
    if isinstance(value, Repeated):
        return "{" + ",".join(f"{json.dumps(k)}: {write(v)}" for k, v in value) + "}"
    if isinstance(value, list):
        return f"[{', '.join(write(item) for item in value)}]"
    return json.dumps(value)


def repeats(value: Any) -> bool:
    """Whether any object says a field twice, also inside of a value that is overwritten."""
    if isinstance(value, Repeated):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(repeats(item) for _, item in value)
    return isinstance(value, list) and any(repeats(item) for item in value)


repeated = st.recursive(
    st.sampled_from([1, "", ":", '":', "\\"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from(["a", "b", ":", "é"]), inner), max_size=3).map(
            Repeated
        )
    ),
    max_leaves=15,
)


@given(values)
def test_what_is_encoded_decodes_to_the_same_without_duplicates(value: Any) -> None:
    decoded = decode_json(encode(value))
    assert decoded.value == value
    assert decoded.duplicates == ()


@given(repeated)
def test_duplicates_are_reported_exactly_where_there_are_some(value: Any) -> None:
    assert bool(decode_json(write(value).encode()).duplicates) == repeats(value)


@given(st.binary(max_size=60) | st.text(st.sampled_from('{}[]":,0 tn\\eu-.'), max_size=40))
def test_any_bytes_decode_as_the_standard_library_says_or_are_refused(data: bytes | str) -> None:
    raw = data.encode() if isinstance(data, str) else data
    with suppress(DecodeError):
        assert decode_json(raw).value == json.loads(raw)


@given(values)
def test_yaml_reads_back(value: Any) -> None:
    assert decode_yaml(encode_yaml(value)).value == value


@given(st.binary(max_size=60) | st.text(st.sampled_from("ab: -[]{}&*!<>|\n'\"#?,1.~"), max_size=60))
def test_any_bytes_are_yaml_or_are_refused(data: bytes | str) -> None:
    with suppress(DecodeError):
        orjson.dumps(decode_yaml(data.encode() if isinstance(data, str) else data).value)
