"""Values in the order of their keys, quick to insert into and to copy ranges of. Pure.

Blocks of at most `block` keys, each with its values at the same places. An insertion bisects the
blocks' lower bounds, then one block, and moves a few kilobytes. (One list of 25,000 keys
costs 20 µs per insertion, mostly moving memory; blocks of 512 cost 2 µs: tests/bench.) A range is
joined of slices.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Generic, TypeVar

Value = TypeVar("Value")

BLOCK_KEYS = 512


class Ordered(Generic[Value]):
    """Key -> value, in key order.

    Invariant: block i holds the keys from `_bounds[i]` up to, not including, `_bounds[i + 1]`;
    the first bound is "". A bound need not be a key that is present.
    """

    __slots__ = ("_block", "_bounds", "_keys", "_values")

    def __init__(self, block: int = BLOCK_KEYS) -> None:
        self._block = block
        self._bounds: list[str] = [""]
        self._keys: list[list[str]] = [[]]
        self._values: list[list[Value]] = [[]]

    def load(self, pairs: Iterable[tuple[str, Value]]) -> None:
        """Fill an empty one; the pairs come in key order."""
        half = max(self._block // 2, 1)
        for key, value in pairs:
            if len(self._keys[-1]) >= half:
                self._bounds.append(key)
                self._keys.append([])
                self._values.append([])
            self._keys[-1].append(key)
            self._values[-1].append(value)

    def put(self, key: str, value: Value) -> None:
        """Insert, or replace."""
        number = bisect_right(self._bounds, key) - 1
        keys = self._keys[number]
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            self._values[number][at] = value
            return
        keys.insert(at, key)
        self._values[number].insert(at, value)
        if len(keys) > self._block:
            self._split(number)

    def remove(self, key: str) -> None:
        """Remove a key that is present."""
        number = bisect_right(self._bounds, key) - 1
        keys = self._keys[number]
        at = bisect_left(keys, key)
        del keys[at], self._values[number][at]
        if not keys and len(self._keys) > 1:
            del self._keys[number], self._values[number], self._bounds[number]
            self._bounds[0] = ""

    def between(self, start: str, end: str) -> list[Value]:
        """The values of the keys from `start` up to, not including, `end`."""
        first = bisect_right(self._bounds, start) - 1
        last = bisect_left(self._bounds, end) - 1
        if last < first or start >= end:
            return []
        low = bisect_left(self._keys[first], start)
        high = bisect_left(self._keys[last], end)
        if first == last:
            return self._values[first][low:high]
        found = self._values[first][low:]
        for values in self._values[first + 1 : last]:
            found += values
        found += self._values[last][:high]
        return found

    def _split(self, number: int) -> None:
        keys, values = self._keys[number], self._values[number]
        half = len(keys) // 2
        self._bounds.insert(number + 1, keys[half])
        self._keys.insert(number + 1, keys[half:])
        self._values.insert(number + 1, values[half:])
        del keys[half:], values[half:]
