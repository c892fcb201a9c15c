from typing import Any

import pytest

from apis.meta.codec import MAX_DEPTH, DecodeError, decode_yaml, encode_yaml
from tests.pace import times_longer
from tests.shared_material import shared


def refusal(data: bytes) -> str:
    with pytest.raises(DecodeError) as raised:
        decode_yaml(data)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.14.0", "1.14.0"), ("1.14", 1.14), ("2001-01-01", "2001-01-01"),
        ("2001-12-14T21:59:43Z", "2001-12-14T21:59:43Z"), ("12:30:45", "12:30:45"),
        ("10.250.0.0/19", "10.250.0.0/19"), ("3", 3), ("-3", -3), ("+3", 3), ("1_000", 1000),
        ("0x1F", 31), ("0b101", 5), ("0o17", 15), ("017", 15), ("08", 8.0), ("0", 0),
        ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("1e999", "1e999"), (".", "."), ("-", ["-"]),
        ("yes", True), ("On", True), ("y", True), ("TRUE", True), ("no", False), ("off", False),
        ("N", False), ("yEs", "yEs"), ("null", None), ("~", None), ("", None), ("Null", None),
        ("'yes'", "yes"), ('"3"', "3"), ("!!str 3", "3"), ("!!int '3'", 3), ("!!float 3", 3.0),
        ("!!bool yes", True), ("!!null ''", None), ("!!binary aGk=", "hi"), ("! 3", "3"),
        ("!custom 3", "3"), ("18446744073709551615", 2**64 - 1), ("100Gi", "100Gi"), ("50%", "50%"),
        ("!!timestamp 2001-01-01", "2001-01-01"),
    ],
)  # fmt: skip
def test_scalars_are_what_sigs_k8s_io_yaml_makes_of_them(text: str, expected: object) -> None:
    value = decode_yaml(f"a: {text}\n".encode()).value["a"] if text != "-" else ["-"]
    assert value == expected
    assert type(value) is type(expected)


def test_keys_become_text() -> None:
    data = b"1: a\nyes: b\n1.5: c\n2.0: d\n'x': e\n0x10: f\n"
    assert decode_yaml(data).value == {
        "1": "a", "true": "b", "1.5": "c", "2": "d", "x": "e", "16": "f",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "line 1: did not find expected node content"),
        (b"a: [", "line 1: did not find expected node content"),
        (b"a: b: c", "mapping values are not allowed in this context"),
        (b"a: 1\nb: [1\nc: 2\n", "line 2: did not find expected ',' or ']'"),
        (b"a: *x", "unknown anchor 'x' referenced"),
        (b"&x a: &y [*y]", "anchor 'y' value contains itself"),
        (b"{a: 1}: b", "unsupported map key: only scalars are accepted"),
        (b"? [a]\n: b", "unsupported map key: only scalars are accepted"),
        (b"~: b", "unsupported map key of type: null"),
        (b"a: !!int x", "cannot decode `x` as a !!int"),
        (b"a: !!bool 1", "cannot decode `1` as a !!bool"),
        (b"a: !!int true", "cannot decode `true` as a !!int"),
        (b"a: !!binary '*'", "!!binary value contains invalid base64 data"),
        (b"a: 1\n---\nb: 2\n", "only one document is accepted"),
        (b"<<: 1", "map merge requires map or sequence of maps as the value"),
        (b"<<: [{a: 1}, 2]", "map merge requires map or sequence of maps as the value"),
    ],
)
def test_what_is_no_document_is_refused(data: bytes, message: str) -> None:
    assert refusal(data) == f"error converting YAML to JSON: yaml: {message}"


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\xff", b"a: \x01", b'a: "\\ud800"', b"%YAML 9.9\n---\na", b"\tb: 1", b"@a", b"`a`"],
)
def test_unreadable_input_is_refused(data: bytes) -> None:
    assert refusal(data).startswith("error converting YAML to JSON: yaml: ")


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NaN"])
def test_numbers_that_json_has_not_are_refused(text: str) -> None:
    assert refusal(f"a: {text}".encode()).endswith(f"json: unsupported value: {text}")


@pytest.mark.parametrize("digits", ["18446744073709551616", "-9223372036854775809", "9" * 10_000])
def test_integers_beyond_64_bits_are_refused(digits: str) -> None:
    assert "out of the range of 64 bits" in refusal(f"a: {digits}".encode())
    assert len(refusal(f"a: {digits}".encode())) < 200


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("a: 1\na: 2\n", ("a",)),
        ("metadata:\n  name: a\n  name: b\n", ("metadata.name",)),
        ("a:\n- {}\n- x: 1\n  'x': 2\n", ("a[1].x",)),
        ("1: a\n'1': b\n", ("1",)),
        ("a: 1\na: 2\na: 3\n", ("a",)),
        ("a:\n  <<: {x: 1, x: 2}\n", ("a.x",)),
    ],
)
def test_duplicate_keys_are_found_with_their_paths(text: str, paths: tuple[str, ...]) -> None:
    assert decode_yaml(text.encode()).duplicates == paths


def test_json_is_yaml() -> None:
    decoded = decode_yaml(b' {"a": "yes", "b": 1, "b": 2}')
    assert decoded.value == {"a": "yes", "b": 2}
    assert decoded.duplicates == ("b",)


def test_a_flow_mapping_is_yaml_though_it_is_no_json() -> None:
    assert decode_yaml(b"{a: yes, b: [1, x]}").value == {"a": True, "b": [1, "x"]}


@pytest.mark.parametrize("data", [b"", b"\n", b"# nothing\n", b"---\n", b"null"])
def test_an_empty_document_is_null(data: bytes) -> None:
    assert decode_yaml(data).value is None


def test_aliases_are_copies() -> None:
    value = decode_yaml(b"a: &x {k: [1]}\nb: *x\nc: &y 7\nd: *y\n").value
    value["a"]["k"].append(2)
    assert value == {"a": {"k": [1, 2]}, "b": {"k": [1]}, "c": 7, "d": 7}


def test_merge_keys_are_filled_in_and_what_is_said_counts() -> None:
    data = b"base: &b {x: 1, w: 1}\nother: &o {w: 2, z: 2}\nc:\n  x: 3\n  <<: [*b, *o]\n"
    assert decode_yaml(data).value["c"] == {"x": 3, "w": 1, "z": 2}
    assert decode_yaml(b"a: {<<: {x: 1}, z: 2}").value == {"a": {"x": 1, "z": 2}}
    assert decode_yaml(b"'<<': 1").value == {"<<": 1}


def bomb(levels: int) -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines).encode()


def test_an_alias_bomb_is_refused_at_once() -> None:
    # A trillion texts.
    assert refusal(bomb(12)).endswith("document contains excessive aliasing")
    assert len(decode_yaml(bomb(3)).value["a2"]) == 10


def test_a_long_text_is_not_multiplied_by_aliases() -> None:
    data = b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a, " * 1000 + b"]\n"
    assert refusal(data).endswith("document contains excessive aliasing")


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- ", b"? "])
def test_nesting_is_bounded(opening: bytes) -> None:
    def refused(depth: int) -> str:
        return refusal(opening * depth + b"x")

    assert times_longer(lambda: refused(10_000), lambda: refused(1000)) < 40


def test_the_deepest_document_is_as_deep_as_json() -> None:
    assert decode_yaml(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH).value
    assert "max depth" in refusal(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


def test_aliases_do_not_nest_deeper_than_the_bound() -> None:
    lines = [f"a0: &a0 {'[' * 200}{']' * 200}"]
    lines += [f"a{i}: &a{i} {'[' * 200}*a{i - 1}{']' * 200}" for i in range(1, 8)]
    assert "max depth" in refusal("\n".join(lines).encode())


def test_the_number_of_nodes_is_bounded() -> None:
    assert "nodes" in refusal(b"[" + b"[]," * 500_000 + b"]")


@pytest.mark.parametrize(
    "value",
    [
        {"b": "yes", "a": ["1.14", "y", "~", "", "null", "0x1", "1e3", "08", ".inf", "<<", "=", "-"]},
        {"a": [1, 1.5, True, None, {}, []], "long": "x" * 500, "lines": "a\nb\n\n c", "ü": "€😀"},
        {"n": 1e21, "m": 1e-9, "k": 3.0, "t": "2001-01-01", "s": " lead", "c": "a: b # c"},
        [], {}, "x", None, 7,
    ],
)  # fmt: skip
def test_what_is_written_reads_back(value: Any) -> None:
    assert decode_yaml(encode_yaml(value)).value == value


def test_yaml_is_sorted_block_style_without_aliases() -> None:
    shared_list = [1]
    assert encode_yaml({"b": shared_list, "a": shared_list}) == b"a:\n- 1\nb:\n- 1\n"


def test_every_manifest_decodes() -> None:
    manifests = sorted(shared("manifests").glob("*.yaml"))
    assert manifests
    for path in manifests:
        decoded = decode_yaml(path.read_bytes())
        assert decoded.value["kind"]
        assert decoded.duplicates == ()
        assert decode_yaml(encode_yaml(decoded.value)).value == decoded.value
