"""A small LRU for what is parsed out of objects that many requests share (profiles, ranges)."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from apis.meta.transaction import Object, Record

T = TypeVar("T")


class Parsed(Generic[T]):
    """Remembers `parse(obj)` of the most recently used objects, `size` of them.

    A key must change whenever the content does. `of_record` takes the record's body: its hash is
    kept by the bytes object, a hit compares by identity first, and unlike a resourceVersion it
    cannot stand for other content after an etcd restore.
    """

    def __init__(self, parse: Callable[[Object], T], *, size: int = 128) -> None:
        self._parse = parse
        self._size = size
        self._entries: OrderedDict[Hashable, tuple[Object | None, T]] = OrderedDict()

    def of_record(self, record: Record) -> T:
        found = self._entries.get(record.body)
        if found is None:
            return self._keep(record.body, None, self._parse(record.object()))
        self._entries.move_to_end(record.body)
        return found[1]

    def of_object(self, obj: Object, key: Hashable = None) -> T:
        """Without a `key`, the same object counts as unchanged: nobody may change it any more."""
        at: Hashable = ("identity", id(obj)) if key is None else key
        found = self._entries.get(at)
        if found is None or (key is None and found[0] is not obj):
            # Keeping the object itself keeps its identity from being given to another one.
            return self._keep(at, obj if key is None else None, self._parse(obj))
        self._entries.move_to_end(at)
        return found[1]

    def _keep(self, key: Hashable, obj: Object | None, value: T) -> T:
        self._entries[key] = (obj, value)
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
        return value
