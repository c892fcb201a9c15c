"""How long the event loop keeps ready work waiting: for /metrics."""

import asyncio
from collections.abc import Callable
from typing import Final

from quotaapi.endpoints.metrics import Family, gauge

BEAT_SECONDS: Final = 0.02
SPAN_SECONDS: Final = 60.0


class Pulse:
    """Sleeps shortly, again and again; how much longer that took is what everybody waited.

    `run` it for as long as the server runs. The maximum is that of the present span and the one
    before it, so that a scrape once a minute misses none.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._spans = [0.0, 0.0]
        self._since = monotonic()

    async def run(self) -> None:
        while True:
            before = self._monotonic()
            await asyncio.sleep(BEAT_SECONDS)
            now = self._monotonic()
            self.beat(now, now - before - BEAT_SECONDS)

    def beat(self, now: float, lag_seconds: float) -> None:
        if now - self._since > SPAN_SECONDS:
            self._since = now
            self._spans = [0.0, self._spans[0]]
        self._spans[0] = max(self._spans[0], lag_seconds)

    def statistics(self) -> list[Family]:
        return [
            gauge(
                "quotaapi_event_loop_lag_seconds_max",
                "Longest that ready work had to wait, in the last one or two minutes.",
                max(self._spans),
                together="max",
            ),
            gauge("quotaapi_tasks", "asyncio tasks.", len(asyncio.all_tasks())),
        ]
