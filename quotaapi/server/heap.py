"""Gives memory back that requests and connections have left in the C library's heap.

TLS takes a buffer of 256 KiB for each connection, of which one that does little touches some pages,
and more for answers that wait for their client. glibc puts these buffers wherever the heap is free:
among the pages that others have touched. So with every thousand connections that come and go more
of what is free stays resident, 20 MB, up to all buffers that were ever there at once. Only a
trim gives the free pages in the midst of the heap back to the system.

Buffers of LARGE_BYTES and more are kept out of the heap (`keep_large_apart`): they are pages of their
own, of which only those count that have been touched, and are given back when they are freed. By itself
glibc gives that up for good when it frees its first large buffer.

A trim takes the heap's lock for as long as it gives back, about 10 ms for each 100 MB: it is made in a
thread, and often enough that there is never much. What has been done since the last one, in whatever
way it took memory, has taken processor time: by that it is decided whether it is worth while.
"""

import asyncio
import ctypes
from collections.abc import Awaitable, Callable
from typing import Final

LARGE_BYTES: Final = 128 * 1024
_M_MMAP_THRESHOLD: Final = -3  # malloc.h

LOOK_SECONDS: Final = 2.0
WORTH_SECONDS: Final = 0.2
"""So much work has left enough to give back; an idle server does as much in a minute."""

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


def keep_large_apart() -> None:
    """For the whole process; does nothing where the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)


class Heap:
    """`worked`: the process's processor time, in seconds. `run` it for as long as the server runs."""

    def __init__(
        self,
        worked: Callable[[], float],
        trim: Trim | None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._worked = worked
        self._trim = trim
        self._sleep = sleep
        self._trimmed_at = worked()

    async def run(self) -> None:
        if self._trim is None:
            return
        while True:
            await self._sleep(LOOK_SECONDS)
            if self._worked() - self._trimmed_at >= WORTH_SECONDS:
                await asyncio.to_thread(self._trim)
                # After it: its own work is not worth another one.
                self._trimmed_at = self._worked()
