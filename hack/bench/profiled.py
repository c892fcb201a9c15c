"""quotaapi with a sampling profiler: `python -m hack.bench.profiled serve …`, stacks to $QUOTAAPI_BENCH_STACKS.

The kernel's timer of spent CPU time raises SIGPROF; the signal handler, in C, writes the stack at
that very moment. A handler in Python would not do: it runs when the interpreter gets to it, and what
TLS, sockets and the JSON codec do in C would be booked on whatever comes next.
"""

import faulthandler
import os
import signal
import sys
from pathlib import Path

from quotaapi.__main__ import main

VARIABLE = "QUOTAAPI_BENCH_STACKS"
INTERVAL_SECONDS = 0.004
"""A tick of most kernels, which is as fine as this timer gets."""


def run() -> int:
    with Path(os.environ[VARIABLE]).open("wb") as stacks:
        faulthandler.register(signal.SIGPROF, file=stacks, all_threads=False)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
        try:
            return main()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.unregister(signal.SIGPROF)


if __name__ == "__main__":
    sys.exit(run())
