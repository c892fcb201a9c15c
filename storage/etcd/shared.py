"""One request for many askers, none of whom may get an answer older than its question."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from apis.meta.transaction import Unavailable


@dataclass(slots=True, eq=False)
class _Flight:
    number: int
    outcome: "asyncio.Future[int | Unavailable | None]"
    """None where the asker that flew was cancelled: the others fly again."""


class SharedAnswer:
    """Askers share a flight that started after they asked: one is in the air, one generation waits."""

    def __init__(self, ask: Callable[[], Awaitable[int]]) -> None:
        self._ask = ask
        self._started = 0
        self._flight: _Flight | None = None

    async def get(self) -> int:
        """An answer to a request that was not sent before this call. Raises what the request raises."""
        asked_at = self._started
        while True:
            flight = self._flight
            if flight is None:
                return await self._fly()
            outcome = await asyncio.shield(flight.outcome)
            if outcome is None or flight.number <= asked_at:
                continue
            if isinstance(outcome, Unavailable):
                raise Unavailable(str(outcome)) from outcome
            return outcome

    async def _fly(self) -> int:
        self._started += 1
        flight = _Flight(self._started, asyncio.get_running_loop().create_future())
        self._flight = flight
        outcome: int | Unavailable | None = None
        try:
            outcome = await self._ask()
        except Unavailable as error:
            outcome = error
            raise
        finally:
            self._flight = None
            flight.outcome.set_result(outcome)
        return outcome
