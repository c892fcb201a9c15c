"""Answers of kube-apiserver, kept for as long as kube-apiserver itself keeps such answers.

One question is asked once at a time: who asks the same meanwhile gets the same answer. What could
not be answered is not kept.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Decisions(Generic[K, V]):
    """`seconds_of(question, answer)`: how long it holds, 0: not beyond those who wait for it.

    At most `size` answers are kept; the one that was used least recently goes first. `spawn` makes
    a task of a question: it outlives the asker, for others may wait for its answer.
    """

    def __init__(
        self,
        seconds_of: Callable[[K, V], float],
        *,
        size: int,
        monotonic: Callable[[], float],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._seconds_of = seconds_of
        self._size = size
        self._monotonic = monotonic
        self._spawn = spawn
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._flights: dict[K, asyncio.Future[V]] = {}
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The kept answer, or what `ask` answers. Raises what it raises, for all who waited."""
        kept = self._kept.get(key)
        if kept is not None and self._monotonic() < kept[0]:
            self.hits += 1
            self._kept.move_to_end(key)
            return kept[1]
        flight = self._flights.get(key)
        if flight is None:
            self.misses += 1
            flight = asyncio.get_running_loop().create_future()
            self._spawn(self._fly(key, ask, flight))  # may refuse: then nobody is to wait for it
            self._flights[key] = flight
        return await asyncio.shield(flight)

    async def _fly(
        self, key: K, ask: Callable[[], Awaitable[V]], flight: "asyncio.Future[V]"
    ) -> None:
        try:
            value = await ask()
        except asyncio.CancelledError:
            flight.cancel()
            raise
        # Whatever it is, it is the askers' to handle; the task's owner must not die of it.
        except Exception as error:  # noqa: BLE001 -- see above
            flight.set_exception(error)
            flight.exception()  # seen, even where every asker has left
        else:
            self._keep(key, value)
            flight.set_result(value)
        finally:
            del self._flights[key]

    def _keep(self, key: K, value: V) -> None:
        seconds = self._seconds_of(key, value)
        if seconds <= 0:
            return
        self._kept[key] = (self._monotonic() + seconds, value)
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
