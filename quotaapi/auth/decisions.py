"""Answers of kube-apiserver, kept for as long as an aggregated API server keeps such answers.

One question is asked once at a time: who asks the same meanwhile gets the same answer. A fault is
not kept. While kube-apiserver is away, its last answer holds on, but not for ever.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Final, Generic, TypeVar

from apis.meta.values import valueclass
from quotaapi.auth.asking import Away

HOLDS_SECONDS: Final = 10.0
"""The generic API server library's time for what it delegates: accesses and tokens, allowed and
refused alike (k8s.io/apiserver, `NewDelegatingAuthorizationOptions`, `NewDelegatingAuthenticationOptions`)."""

AWAY_SECONDS: Final = 300.0
"""From an answer on, how long it holds while kube-apiserver is away."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@valueclass
class _Kept(Generic[V]):
    """Times are `monotonic`'s."""

    answer: V
    until: float
    until_if_away: float


class Decisions(Generic[K, V]):
    """`seconds_of(question)`: how long an answer holds, 0: not beyond those who wait for it.

    At most `size` answers are kept; the one that was used least recently goes first. `spawn` makes
    a task of a question: it outlives the asker, for others may wait for its answer.
    """

    def __init__(
        self,
        seconds_of: Callable[[K], float],
        *,
        size: int,
        monotonic: Callable[[], float],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._seconds_of = seconds_of
        self._size = size
        self._monotonic = monotonic
        self._spawn = spawn
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self._flights: dict[K, asyncio.Future[V]] = {}
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The kept answer, or what `ask` answers. Raises what it raises, for all who waited."""
        kept = self._kept.get(key)
        if kept is not None and self._monotonic() < kept.until:
            self.hits += 1
            self._kept.move_to_end(key)
            return kept.answer
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
        except Away as away:
            kept = self._kept.get(key)
            if kept is not None and self._monotonic() < kept.until_if_away:
                self._hold_on(key, kept)
                flight.set_result(kept.answer)
            else:
                _fail(flight, away)
        # Whatever it is, it is the askers' to handle; the task's owner must not die of it.
        except Exception as error:  # noqa: BLE001 -- see above
            _fail(flight, error)
        else:
            self._keep(key, value)
            flight.set_result(value)
        finally:
            del self._flights[key]

    def _keep(self, key: K, value: V) -> None:
        seconds, now = self._seconds_of(key), self._monotonic()
        if seconds <= 0:
            return
        self._kept[key] = _Kept(value, now + seconds, now + AWAY_SECONDS)
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def _hold_on(self, key: K, kept: _Kept[V]) -> None:
        """Asked again later only: each attempt may wait for its time-out."""
        until = min(self._monotonic() + self._seconds_of(key), kept.until_if_away)
        self._kept[key] = _Kept(kept.answer, until, kept.until_if_away)


def _fail(flight: "asyncio.Future[Any]", error: Exception) -> None:
    flight.set_exception(error)
    flight.exception()  # seen, even where every asker has left
