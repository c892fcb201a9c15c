"""Long answers in parts."""

import asyncio
import gzip
import zlib
from dataclasses import replace

import pytest

from apis.meta import codec
from apis.meta.transaction import Object, Record
from quotaapi.endpoints.compression import HEADER, accepts_gzip, deflated, gzipped, trailer
from quotaapi.endpoints.encoding import LongObject, PlainList, json_parts, pretty_parts, yaml_parts
from quotaapi.registry.heavy import Heavy

TEXT = "one line\nand another: 'quoted'\n\n  last"


def a_long_object(count: int, long: str) -> LongObject:
    records = [
        Record(f"q{n}", 1, n, codec.encode({"metadata": {"name": f"q{n}", "text": TEXT}}))
        for n in range(count)
    ]
    around: Object = {"kind": "List", "metadata": {"continue": ""}, long: None}
    return LongObject(around, long, records, lambda batch: [each.object() for each in batch])


async def assert_parts_are_the_whole(obj: LongObject) -> None:
    whole, heavy = obj.around, Heavy()
    if obj.records:
        whole = {**whole, obj.long: obj.make(obj.records)}

    assert b"".join([part async for part in yaml_parts(obj, heavy)]) == codec.encode_yaml(whole)
    assert b"".join([part async for part in json_parts(obj, heavy)]) == codec.encode(whole)
    assert b"".join([part async for part in pretty_parts(obj, heavy)]) == codec.encode_pretty(whole)


@pytest.mark.parametrize("count", [0, 1, 40, 41, 200, 201, 500])
@pytest.mark.parametrize("long", ["apiVersion", "items", "zone"])
async def test_parts_are_what_the_whole_is(count: int, long: str) -> None:
    await assert_parts_are_the_whole(a_long_object(count, long))


async def test_a_list_of_large_objects_is_encoded_in_pieces_of_bytes() -> None:
    small = a_long_object(3, "items")
    large = [
        Record("large", 1, 1, codec.encode({"metadata": {"name": f"l{n}", "text": "x" * 300_000}}))
        for n in range(3)
    ]
    mixed = [*small.records, *large, *small.records]

    await assert_parts_are_the_whole(replace(small, records=mixed))


def test_parts_are_one_stream_of_gzip() -> None:
    parts = [b"a" * 100_000, b"b" * 100_000]
    whole = b"".join(parts)
    stream = [HEADER, *map(deflated, parts), trailer(zlib.crc32(whole), len(whole))]

    assert gzip.decompress(b"".join(stream)) == whole
    assert gzip.decompress(gzipped(whole)) == whole


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


async def test_a_plain_list_is_made_once_for_all_who_ask_at_the_same_time() -> None:
    shared = PlainList(b"[", a_long_object(5_000, "items").records, b"]")

    first, *others = await asyncio.gather(*(shared.body() for _ in range(5)))

    assert all(other is first for other in others)
