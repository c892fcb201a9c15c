"""What another release has stored is refused, not misread."""

import pytest

from apis.meta.transaction import Header
from storage.etcd import records
from storage.interface import UnreadableRecord

ID = b"0123456789abcdef"


def stored(header: Header) -> bytes:
    return records.mark(7, ID) + records.remainder(header, b'{"metadata":{}}')


def test_every_part_of_a_header_that_this_release_writes_is_read() -> None:
    header = Header(charge={"cpu": "1"}, count=3, prices={"machines": {}})

    assert records.decode("k", 5, stored(header)).header == header


@pytest.mark.parametrize("header", [Header(), Header(charge={"cpu": "1"}, count=3)])
def test_a_part_of_a_header_that_a_later_release_added_is_not_dropped(header: Header) -> None:
    value = stored(header).replace(b"}\n{", b',"lease":"x"}\n{')

    with pytest.raises(UnreadableRecord, match="k at revision 5 has a header with parts"):
        records.decode("k", 5, value)


def test_a_later_format_is_named() -> None:
    value = stored(Header(count=1)).replace(b'{"v":1', b'{"v":3')

    with pytest.raises(UnreadableRecord, match="k at revision 5 is stored in format 3"):
        records.decode("k", 5, value)
