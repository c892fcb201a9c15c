"""Long answers in parts."""

import gzip

import pytest

from apis.meta import codec
from quotaapi.endpoints.compression import accepts_gzip, gzipped
from quotaapi.endpoints.encoding import yaml_parts

TEXT = "one line\nand another: 'quoted'\n\n  last"


@pytest.mark.parametrize("count", [0, 1, 40, 41, 200])
@pytest.mark.parametrize("long", ["apiVersion", "items", "zone"])
async def test_yaml_in_parts_is_the_yaml_of_the_whole(count: int, long: str) -> None:
    items = [{"metadata": {"name": f"q{n}", "text": TEXT}, "list": [[1], []]} for n in range(count)]
    obj = {"kind": "List", "metadata": {"continue": ""}, long: items}

    assert b"".join(await yaml_parts(obj, long)) == codec.encode_yaml(obj)


async def test_no_list_at_all_is_null_in_parts_too() -> None:
    assert await yaml_parts({"items": None}, "items") == [b"items: null\n"]


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
