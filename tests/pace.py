"""How long something takes in units of something else, so that the machine's speed cancels out."""

import time
from collections.abc import Callable


def times_longer(step: Callable[[], object], yardstick: Callable[[], object]) -> float:
    """By which factor `step()` takes longer than `yardstick()`.

    Processor time of this thread, the least of three rounds of each, taken in turn: what else the
    machine does falls on neither.
    """
    steps, yardsticks = [], []
    for _ in range(3):
        steps.append(_seconds(step))
        yardsticks.append(_seconds(yardstick))
    return min(steps) / max(min(yardsticks), 1e-9)


def _seconds(step: Callable[[], object]) -> float:
    began = time.thread_time()
    step()
    return time.thread_time() - began
