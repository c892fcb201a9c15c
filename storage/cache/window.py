"""The recent events of one resource: what a watch that resumes is served from. Pure."""

from bisect import bisect_right

from storage.interface import Event


class Window:
    """Events in version order, the last `size` of them at least.

    `floor` is a version: everything after it is here. It is the version of the newest event that
    was dropped, or the version of the list that the cache began with.
    """

    __slots__ = ("_events", "_size", "_slack", "_versions", "floor")

    def __init__(self, size: int, floor: int) -> None:
        self._size = size
        # Dropping from the front of a list moves the rest: do it once per so many events.
        self._slack = max(size // 4, 16)
        self._events: list[Event] = []
        self._versions: list[int] = []
        self.floor = floor

    def append(self, event: Event) -> None:
        """`event` is later than all before it."""
        self._events.append(event)
        self._versions.append(event.record.resource_version)
        surplus = len(self._events) - self._size
        if surplus >= self._slack:
            self.floor = self._versions[surplus - 1]
            del self._events[:surplus], self._versions[:surplus]

    def after(self, version: int, most: int | None = None) -> list[Event] | None:
        """The events with a greater version, the first `most` of them where it is given; None where
        some have been dropped."""
        if version < self.floor:
            return None
        start = bisect_right(self._versions, version)
        return self._events[start : None if most is None else start + most]

    def __len__(self) -> int:
        return len(self._events)
