"""A task's time on the event loop, of its own choice."""

import asyncio


class Turn:
    """Work in small steps; where `is_over`, `give` others their turn. `seconds`: how long one lasts."""

    __slots__ = ("_clock", "_ends", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._seconds = seconds
        self._ends = self._clock() + seconds

    def is_over(self) -> bool:
        return self._clock() >= self._ends

    async def give(self) -> None:
        await asyncio.sleep(0)
        self._ends = self._clock() + self._seconds
