"""The open watches, so that shutdown can end them: an open watch must not hold it up."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final

from apis.meta import errors

MAX_QUERY_BYTES: Final = 8 * 1024 * 1024
"""Of the long queries of all open watches."""


class Watches:
    """Every open watch waits inside `interruptible`; `end` wakes them all, for good."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Timeout] = set()
        self._ended = False
        self.open = 0
        self._query_bytes = 0

    @property
    def ended(self) -> bool:
        return self._ended

    def end(self) -> None:
        """Wake every waiting watch with a TimeoutError; those to come do not wait at all."""
        self._ended = True
        now = asyncio.get_running_loop().time()
        for timeout in self._waiting:
            timeout.reschedule(now)

    @contextmanager
    def counted(self, long_query_bytes: int = 0) -> Iterator[None]:
        """`long_query_bytes`: of its request's query, where that is long: it is kept as long as the
        watch is open, four times. Raises 429 where there are too many."""
        if self._query_bytes + long_query_bytes > max(MAX_QUERY_BYTES, long_query_bytes):
            raise errors.too_many_requests("Too many long selectors, please try again later.")
        self.open += 1
        self._query_bytes += long_query_bytes
        try:
            yield
        finally:
            self.open -= 1
            self._query_bytes -= long_query_bytes

    def interruptible(self) -> "_Interruptible":
        """`async with`: raises TimeoutError out of the block when the server ends."""
        return _Interruptible(self)

    def add(self, timeout: asyncio.Timeout) -> None:
        self._waiting.add(timeout)

    def discard(self, timeout: asyncio.Timeout) -> None:
        self._waiting.discard(timeout)


class _Interruptible:
    """No timer is set while nothing ends: entering and leaving costs about a microsecond."""

    __slots__ = ("_owner", "_timeout")

    def __init__(self, owner: Watches) -> None:
        self._owner = owner
        self._timeout = asyncio.timeout(0 if owner.ended else None)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._owner.add(self._timeout)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owner.discard(self._timeout)
        await self._timeout.__aexit__(kind, error, trace)
