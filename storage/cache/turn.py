"""Tasks' time on the event loop, of their own choice."""

import asyncio


class Turns:
    """Who judges very many objects, or judges them by a large selector, does so for `seconds` at a
    time; of all who do, one in each turn of the event loop, in the order in which they came."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = asyncio.Lock()

    async def begin(self) -> "Turn":
        turn = Turn(self)
        await turn.give()
        return turn

    async def wait(self) -> None:
        # Held over a turn: who comes meanwhile waits, and only one of these is woken then.
        async with self._lock:
            await asyncio.sleep(0)


class Turn:
    """Work in small steps; where `is_over`, `give` others their turn."""

    __slots__ = ("_clock", "_ends", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._clock = asyncio.get_running_loop().time
        self._turns = turns
        self._ends = 0.0

    def is_over(self) -> bool:
        return self._clock() >= self._ends

    async def give(self) -> None:
        await self._turns.wait()
        self._ends = self._clock() + self._turns.seconds
