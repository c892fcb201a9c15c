"""How long a server's event loop works, told apart from its other threads.

Processor time, not the clock's: a machine that is busy with others does not change it, and no
single turn of the loop can have held it for longer than all turns together took.
"""

import time
from pathlib import Path

HELD_SECONDS = 0.05
"""What nobody is to wait for another's request."""

HARMLESS_TIMES = 5
"""On a slow machine: how much more than a request of the same size that nothing is done about."""


def loop_seconds(pid: int) -> float:
    """Processor time of the main thread, which runs the loop, since the process began."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def process_seconds(pid: int) -> float:
    """Processor time of all its threads since the process began: its CPU clock, as clock_getcpuclockid(3)
    numbers it."""
    return time.clock_gettime(~pid << 3 | 2)


def allowed_seconds(harmless: float) -> float:
    """`harmless`: what the loop worked for a request that only had to be received and refused."""
    return max(HELD_SECONDS, HARMLESS_TIMES * harmless)
