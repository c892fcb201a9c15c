"""Gives memory back that closed connections have left in the C library's heap.

TLS takes a buffer of 256 KiB for each connection, of which one that does little touches some pages.
glibc puts these buffers wherever the heap is free: among the pages that earlier connections have
touched. So with every thousand connections that come and go more of what is free stays resident,
20 MB, up to all buffers that were ever open at once. Only a trim gives the free pages in the midst of
the heap back to the system.

A trim takes the heap's lock for as long as it gives back, about 10 ms for each 100 MB: it is made in a
thread, and often enough that there is never much.
"""

import asyncio
import ctypes
from collections.abc import Awaitable, Callable
from typing import Final

LOOK_SECONDS: Final = 5.0
WORTH: Final = 100
"""So many closed connections have left enough to give back."""

Trim = Callable[[], None]


def find_trim() -> Trim | None:
    """None where the C library is not glibc: others do this by themselves, or cannot."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is None:
        return None
    malloc_trim.argtypes = (ctypes.c_size_t,)

    def trim() -> None:
        malloc_trim(0)

    return trim


class Heap:
    """`closed`: how many connections have ended so far. `run` it for as long as the server runs."""

    def __init__(
        self,
        closed: Callable[[], int],
        trim: Trim | None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._closed = closed
        self._trim = trim
        self._sleep = sleep
        self._trimmed_at = 0

    async def run(self) -> None:
        if self._trim is None:
            return
        while True:
            await self._sleep(LOOK_SECONDS)
            closed = self._closed()
            if closed - self._trimmed_at >= WORTH:
                self._trimmed_at = closed
                await asyncio.to_thread(self._trim)
