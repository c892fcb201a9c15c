"""A small LRU for what is parsed out of objects that many requests share (profiles, ranges)."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from apis.meta.transaction import Object, Record

T = TypeVar("T")


class Parsed(Generic[T]):
    """Remembers `parse(object)` of the most recently used records, `size` of them, by their bodies.

    A body's hash is kept by the bytes object and a hit compares by identity first, so it costs no
    more than a version would; and unlike a version it cannot stand for other content after etcd was
    restored.
    """

    def __init__(self, parse: Callable[[Object], T], *, size: int = 128) -> None:
        self._parse = parse
        self._size = size
        self._entries: OrderedDict[bytes, T] = OrderedDict()

    def of_record(self, record: Record) -> T:
        entries = self._entries
        if record.body in entries:
            entries.move_to_end(record.body)
            return entries[record.body]
        value = entries[record.body] = self._parse(record.object())
        if len(entries) > self._size:
            entries.popitem(last=False)
        return value
