"""Long answers in parts."""

import gzip

import pytest

from apis.meta import codec
from apis.meta.transaction import Object, Record
from quotaapi.endpoints.compression import accepts_gzip, gzipped
from quotaapi.endpoints.encoding import LongObject, json_parts, yaml_parts

TEXT = "one line\nand another: 'quoted'\n\n  last"


def a_long_object(count: int, long: str) -> LongObject:
    records = [
        Record(f"q{n}", 1, n, codec.encode({"metadata": {"name": f"q{n}", "text": TEXT}}))
        for n in range(count)
    ]
    around: Object = {"kind": "List", "metadata": {"continue": ""}, long: None}
    return LongObject(around, long, records, lambda batch: [each.object() for each in batch])


@pytest.mark.parametrize("count", [0, 1, 40, 41, 200, 201, 500])
@pytest.mark.parametrize("long", ["apiVersion", "items", "zone"])
async def test_parts_are_what_the_whole_is(count: int, long: str) -> None:
    obj = a_long_object(count, long)
    whole = await obj.whole()

    assert whole[long] is None if not count else len(whole[long]) == count
    assert b"".join(await yaml_parts(obj)) == codec.encode_yaml(whole)
    assert codec.decode_json(b"".join(await json_parts(obj))).value == whole


def test_parts_are_one_stream_of_gzip() -> None:
    parts = [b"a" * 100_000, b"", b"b" * 100_000]

    assert gzip.decompress(b"".join(gzipped(parts))) == b"".join(parts)


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("", False),
        ("br", False),
    ],
)
def test_gzip_is_used_where_it_is_accepted(header: str, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted
