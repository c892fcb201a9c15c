"""When Python's cyclic garbage collector looks at what: rarely at what stays.

A full collection looks at every object that may be part of a cycle, some 1 µs each, and nobody is
served meanwhile: 80 ms with 20,000 shoots cached. What is *frozen* is never looked at again; it is
freed all the same once nothing refers to it, as long as it is in no cycle. Frozen are

* what the process is made of, before it serves. Until then nothing is collected at all (`quotaapi.__main__`):
  imports make little garbage, and looking at all of them again and again took an eighth of the start.
* what the watch cache holds once it is filled: records, which are in no cycle.

What is made later is looked at, but seldom: by Python's own thresholds a server that creates shoots
spends an eighth of its time on that, by these a hundredth (measured in process, 18,000 creates). Few
cycles are made, so that little waits for it.
"""

import asyncio
import gc
from typing import Final

THRESHOLDS: Final = (10_000, 5, 20)
"""Objects made until the young ones are looked at, 3 ms; how often that is done until those that were
left are, 10 ms; and these until all are, if they have become a quarter more."""


def begin() -> None:
    """The process is complete: what it has, it keeps; from here on garbage is collected."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()


async def freeze_after(filled: asyncio.Event) -> None:
    """Once the watch cache is filled."""
    await filled.wait()
    # The young ones only, a millisecond: what has just ended would be frozen with what stays.
    gc.collect(1)
    gc.freeze()
