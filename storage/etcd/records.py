"""How a record is stored: one line of JSON header, one line with the object's JSON.

    {"v":1,"p":"007","t":"0123456789abcdef","charge":{...},"count":3,"prices":{...}}
    {"apiVersion":...}

The *mark*, the first 39 bytes, is of fixed width, since it holds what is only known when a
transaction is put together: `p`, the write's position, and `t`, the transaction's id. 39 is a
multiple of 3, so that the base64 of a value is the base64 of its mark followed by that of its
remainder: the remainder is encoded once, however often a transaction is put together anew.

`v` is the format, one digit. Neighbouring releases serve the same etcd while one replaces the other,
in either direction, so a format takes two releases: one reads it, the next one writes it
(`docs/decisions/0018`). What is in a format that is not among `READABLE`, or has a part that this
release does not know, is refused whole.
"""

from functools import lru_cache

from apis.meta.transaction import NO_HEADER, Header, Record
from storage.etcd import wire
from storage.interface import UnreadableRecord

WRITTEN = 1
READABLE = (1,)
"""`WRITTEN`, the one before it while records of it may be left, and the one that the next release
writes."""

_STARTS = tuple(b'{"v":%d,"p":"' % version for version in READABLE)
_MARK = b'{"v":%d,"p":"%%03d","t":"%%b"' % WRITTEN
_POSITION = slice(12, 15)
_TRANSACTION = slice(22, 38)
MARK_BYTES = 39
_PLAIN = b"}"
"""What follows the mark in the header line of a record without charge, count and prices."""

_FIELDS = frozenset({"v", "p", "t", "charge", "count", "prices"})

_NO_MARK = _MARK % (0, b"0" * 16)
_EMPTY = _PLAIN + b"\n{}"
MARKER = _NO_MARK + _EMPTY
"""The value of a key of which only the revision matters."""


def mark(position: int, transaction: bytes) -> bytes:
    """The first 39 bytes of a value; `transaction` is 16 hex digits."""
    return _MARK % (position, transaction)


def marker(position: int, transaction: bytes) -> bytes:
    """`MARKER`, as the write of a transaction."""
    return mark(position, transaction) + _EMPTY


def remainder(header: Header, body: bytes) -> bytes:
    """Everything of a value after its mark."""
    return b"%b\n%b" % (_rest(header), body)


def _rest(header: Header) -> bytes:
    """Of the header's line, what follows the mark."""
    if header is NO_HEADER:
        return _PLAIN
    fields = {
        name: value
        for name, value in (
            ("charge", None if header.charge is None else dict(header.charge)),
            ("count", header.count),
            ("prices", None if header.prices is None else dict(header.prices)),
        )
        if value is not None
    }
    return b",%b" % wire.encode(fields)[1:] if fields else _PLAIN


def shared(header: Header) -> Header:
    """As `decode` finds it in the stored record: equal ones are one."""
    rest = _rest(header)
    return NO_HEADER if rest == _PLAIN else _header(rest) or header


def transaction_of(value: bytes) -> bytes:
    """The id of the transaction that stored `value`; something no transaction has for foreign values."""
    return value[_TRANSACTION] if value.startswith(_STARTS) else b""


def mark_of(value: bytes) -> bytes:
    """Position and transaction of a stored value, as it begins; empty for foreign values."""
    return value[: _TRANSACTION.stop] if value.startswith(_STARTS) else b""


def decode(key: str, mod_revision: int, value: bytes) -> Record:
    """A stored value as a record. Raises UnreadableRecord."""
    end = value.find(b"\n", MARK_BYTES)
    position = value[_POSITION]
    if end < 0 or not value.startswith(_STARTS) or not position.isdigit():
        raise _unreadable(key, mod_revision, value)
    rest = value[MARK_BYTES:end]
    header = NO_HEADER if rest == _PLAIN else _header(rest)
    if header is None:
        what = "has a header with parts that this server does not know"
        raise UnreadableRecord(f"{key} at revision {mod_revision} {what}")
    return Record(key, mod_revision, int(position), value[end + 1 :], header)


@lru_cache(maxsize=4096)
def _header(rest: bytes) -> Header | None:
    """Shared between records of equal charge and prices, which are many: decoded once, kept once.

    None where a later release has stored more in it: whoever writes the record again would lose
    that, and does not know what it means.
    """
    fields = wire.decode(_NO_MARK + rest)
    if not fields.keys() <= _FIELDS:
        return None
    return Header(fields.get("charge"), fields.get("count"), fields.get("prices"))


def _unreadable(key: str, mod_revision: int, value: bytes) -> UnreadableRecord:
    line, newline, _ = value[:4096].partition(b"\n")
    try:
        version = wire.decode(line).get("v") if newline else None
    except (ValueError, AttributeError):
        version = None
    if version is not None and version not in READABLE:
        what = f"is stored in format {version!r}, which this server does not know"
    else:
        what = "is not a record of this server"
    return UnreadableRecord(f"{key} at revision {mod_revision} {what}")
