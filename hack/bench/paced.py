"""An open loop: requests at a fixed rate, whether the last ones are answered or not.

Each is timed from when it was due. A client that waits for its answer before it goes on would leave
out the very requests that a stall makes slow.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hack.bench.raw import Address, Answer, Connection

_READY_SECONDS = 60.0
"""For all connections to have their first answer."""


@dataclass(frozen=True, slots=True)
class Pace:
    per_second: float
    seconds: float
    connections: int


@dataclass(frozen=True, slots=True)
class Paced:
    """`ms`: of each request, from when it was due; `per_second`: what was kept of the pace."""

    ms: list[float]
    per_second: float


def run(address: Address, pace: Pace, request: Callable[[Connection, int, int], Answer]) -> Paced:
    """`request` gets the connection, its number and the request's; anything but 200 is an error."""
    # Else those that are ready would wait for ever for one that failed.
    barrier = threading.Barrier(pace.connections, timeout=_READY_SECONDS)
    each = max(1, round(pace.per_second * pace.seconds / pace.connections))
    interval = pace.connections / pace.per_second

    def one(number: int) -> tuple[float, float, list[float]]:
        """When it began and ended, and how long each request took."""
        with Connection(address) as connection:
            request(connection, number, 0)
            barrier.wait()
            begin = time.perf_counter() + interval * number / pace.connections
            found = []
            for serial in range(each):
                due = begin + serial * interval
                time.sleep(max(0.0, due - time.perf_counter()))
                answer = request(connection, number, serial + 1)
                if answer.status != 200:
                    raise RuntimeError(f"answered with {answer.status}")
                found.append((time.perf_counter() - due) * 1e3)
            # The last request's interval belongs to it, too.
            return begin, max(time.perf_counter(), begin + each * interval), found

    with ThreadPoolExecutor(pace.connections) as threads:
        done = list(threads.map(one, range(pace.connections)))
    seconds = max(end for _, end, _ in done) - min(begin for begin, _, _ in done)
    every = [ms for _, _, found in done for ms in found]
    return Paced(
        every, len(every) / (seconds - interval * (pace.connections - 1) / pace.connections)
    )


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]
