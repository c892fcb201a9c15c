"""How records are stored."""

import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta.transaction import NO_HEADER, Header, Record
from storage.etcd import records, wire
from storage.interface import UnreadableRecord

ID = b"0123456789abcdef"
BODY = b'{"apiVersion":"v1","kind":"T","metadata":{"name":"x"}}'

headers = st.builds(
    Header,
    st.none() | st.dictionaries(st.text(), st.text(), max_size=4),
    st.none() | st.integers(0, 10**9),
    st.none() | st.dictionaries(st.text(), st.dictionaries(st.text(), st.text()), max_size=3),
)


def value(header: Header = NO_HEADER, body: bytes = BODY, position: int = 7) -> bytes:
    return records.mark(position, ID) + records.remainder(header, body)


@given(headers, st.integers(0, 998), st.binary())
def test_what_is_encoded_is_decoded(header: Header, position: int, body: bytes) -> None:
    decoded = records.decode("k", 42, value(header, body, position))
    assert decoded == Record("k", 42, position, body, header)


@given(headers, st.binary())
def test_the_mark_is_encoded_apart_from_the_rest(header: Header, body: bytes) -> None:
    rest = records.remainder(header, body)
    mark = records.mark(7, ID)
    assert wire.b64(mark) + wire.b64(rest) == wire.b64(mark + rest)


def test_the_header_is_one_line_of_json() -> None:
    line, body = value(Header({"cpu": "4"}, 2, {"m": {"cpu": "1"}})).split(b"\n")
    assert wire.decode(line) == {
        "v": 1,
        "p": "007",
        "t": ID.decode(),
        "charge": {"cpu": "4"},
        "count": 2,
        "prices": {"m": {"cpu": "1"}},
    }
    assert body == BODY


def test_a_record_without_header_has_only_its_mark() -> None:
    assert value() == b'{"v":1,"p":"007","t":"0123456789abcdef"}\n' + BODY


def test_an_empty_charge_is_not_the_same_as_none() -> None:
    assert records.decode("k", 1, value(Header({}))).header == Header({})


def test_the_transaction_is_read_without_decoding() -> None:
    assert records.transaction_of(value()) == ID


@pytest.mark.parametrize("foreign", [b"", b"{}", b"\x0a\x05proto", b'{"v":1,"p":"00'])
def test_a_foreign_value_has_no_transaction(foreign: bytes) -> None:
    assert records.transaction_of(foreign) == b""


@pytest.mark.parametrize("version", ["2", '"1"', "1.5", "10", "null"])
def test_an_unknown_format_is_refused_by_name(version: str) -> None:
    stored = value().replace(b'"v":1', b'"v":' + version.encode())
    with pytest.raises(UnreadableRecord, match="k at revision 5"):
        records.decode("k", 5, stored)


def test_the_refusal_names_the_format() -> None:
    with pytest.raises(UnreadableRecord, match="stored in format 2"):
        records.decode("k", 5, value().replace(b'"v":1', b'"v":2'))


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"\n",
        b"{}",
        b"{}\n{}",
        b"[]\n",
        b"null\n{}",
        b"\xff\xfe\n",
        value()[:39],
        b"k8s\x00x\n",
    ],
)
def test_a_foreign_value_is_refused(foreign: bytes) -> None:
    with pytest.raises(UnreadableRecord, match="not a record of this server"):
        records.decode("k", 5, foreign)


@given(st.binary())
def test_no_value_is_worse_than_unreadable(stored: bytes) -> None:
    try:
        records.decode("k", 5, stored)
    except UnreadableRecord:
        return
    assert stored.startswith(b'{"v":1,"p":"')


def test_twenty_thousand_records_fit_their_memory_budget() -> None:
    """2 KB each, every one charged differently: well below the server's 130 MB for them."""
    prices = {"m1": {"cpu": "2", "memory": "8Gi"}, "m2": {"cpu": "4", "memory": "16Gi"}}
    stored = [
        value(Header({"cpu": str(n), "memory": f"{n}Gi", "shoots": "1"}, None, prices), b"x" * 2000)
        for n in range(2000)
    ]
    records.decode("warm", 1, stored[0])
    tracemalloc.start()
    try:
        kept = [records.decode(f"garden/shoots/n/{n}", n, each) for n, each in enumerate(stored)]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / len(kept) * 20_000 < 90e6
    assert sys.getsizeof(kept[0].body) < 2100
