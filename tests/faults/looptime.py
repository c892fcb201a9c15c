"""How long a server's event loop works, told apart from its other threads.

Processor time, not the clock's: a machine that is busy with others does not change it, and no
single turn of the loop can have held it for longer than all turns together took.
"""

from contextlib import suppress
from pathlib import Path

HELD_SECONDS = 0.05
"""What nobody is to wait for another's request."""

HARMLESS_TIMES = 5
"""On a slow machine: how much more than a request of the same size that nothing is done about."""


def loop_seconds(pid: int) -> float:
    """Processor time of the main thread, which runs the loop, since the process began."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def delayed_seconds(pid: int) -> float:
    """How long the process's threads could have run and had no processor, together, since they began:
    what a machine that is busy with others has done to them."""
    nanos = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            nanos += int((thread / "schedstat").read_text().split()[1])
    return nanos / 1e9


def allowed_seconds(harmless: float) -> float:
    """`harmless`: what the loop worked for a request that only had to be received and refused."""
    return max(HELD_SECONDS, HARMLESS_TIMES * harmless)
