"""An event of etcd's history and the value before it, as etcd's gateway tells them."""

import pytest

from storage.etcd import records, wire
from storage.etcd.past import past_event
from storage.interface import Expired

VALUE = wire.b64(records.MARKER).decode()


def _key(full: bytes) -> str:
    return full.decode()


def _kv(**fields: object) -> wire.Message:
    return {"key": wire.b64(b"a").decode(), "mod_revision": "7", **fields}


def test_the_first_value_of_a_key_has_none_before_it() -> None:
    raw = {"kv": _kv(value=VALUE, version="1", create_revision="7")}
    assert past_event(_key, raw, 0).before is None


def test_a_change_is_told_with_the_value_before() -> None:
    before = {"key": wire.b64(b"a").decode(), "mod_revision": "5", "value": VALUE}
    raw = {"kv": _kv(value=VALUE, version="2"), "prev_kv": before}
    told = past_event(_key, raw, 0).before
    assert told is not None
    assert (told.key, told.mod_revision) == ("a", 5)


@pytest.mark.parametrize(
    "raw", [{"kv": _kv(value=VALUE, version="2")}, {"kv": _kv(), "type": "DELETE"}]
)
def test_a_value_that_etcd_leaves_out_is_compacted(raw: wire.Message) -> None:
    with pytest.raises(Expired, match="before revision 7 is compacted"):
        past_event(_key, raw, 0)
