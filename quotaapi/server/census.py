"""Asks all workers for their numbers when one of them is scraped: /metrics tells the whole server's."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from quotaapi.endpoints.metrics import Family, Labels, counter, gauge
from quotaapi.server import totals
from quotaapi.server.channel import Message
from quotaapi.server.distributor import Place

_log = logging.getLogger(__name__)

COLLECT_SECONDS: Final = 1.0
"""How long a round waits for the slowest worker. Who is later is left out, its counters are not."""

_REQUESTS: Final = "quotaapi_requests_total"


class Census:
    """`asked` and `told` are what workers say; `ended` when a worker's process has."""

    def __init__(
        self,
        workers: int,
        places: Sequence[Place],
        restarts: Callable[[], Mapping[int, int]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`places`: the living ones, at any time."""
        self._workers = workers
        self._places = places
        self._restarts = restarts
        self._tasks = tasks
        self._totals = totals.Totals()
        self._round = 0
        self._left_out = 0
        self._missing: set[int] = set()
        self._complete = asyncio.Event()
        self._askers: list[Place] = []

    def asked(self, place: Place) -> None:
        self._askers.append(place)
        if len(self._askers) == 1:
            self._tasks.create_task(self._count(), name="metrics of all workers")

    def told(self, place: Place, message: Message) -> None:
        self._totals.heard(place.number, totals.from_wire(message["families"]))
        if message["collected"] == self._round:
            self._answered(place.number)

    def ended(self, number: int) -> None:
        self._totals.ended(number)
        self._answered(number)

    def _answered(self, number: int) -> None:
        self._missing.discard(number)
        if not self._missing:
            self._complete.set()

    async def _count(self) -> None:
        """One round; whoever asks meanwhile gets its outcome."""
        try:
            told = totals.to_wire(await self._collect())
        except Exception:  # noqa: BLE001 -- see below
            # Numbers that do not fit together must not end the process that holds the port: who
            # asked is answered 503 by its worker, and the next scrape begins anew.
            _log.exception("the workers' numbers could not be put together")
            self._askers.clear()
            return
        askers, self._askers = self._askers, []
        for place in askers:
            place.channel.send({"totals": told})

    async def _collect(self) -> Sequence[Family]:
        self._round += 1
        self._complete.clear()
        serving = [place for place in self._places if place.serving]
        self._missing = {place.number for place in serving}
        for place in serving:
            place.channel.send({"collect": self._round})
        if not serving:  # who asks is about to end
            self._complete.set()
        try:
            async with asyncio.timeout(COLLECT_SECONDS):
                await self._complete.wait()
        except TimeoutError:
            self._left_out += len(self._missing)
        answered = {place.number for place in self._places} - self._missing
        return [*self._totals.families(answered), *self._own()]

    def _own(self) -> Sequence[Family]:
        def each(values: Mapping[int, float]) -> Mapping[Labels, float]:
            return {(("worker", str(n)),): value for n, value in sorted(values.items())}

        living = {place.number: place for place in self._places}
        requests = {n: self._totals.of_one(n, _REQUESTS) for n in living}
        return (
            gauge("quotaapi_workers", "Worker processes that there should be.", self._workers),
            gauge(
                "quotaapi_workers_ready",
                "Of those, the ones that are ready.",
                sum(place.ready for place in living.values()),
            ),
            counter(
                "quotaapi_workers_left_out_total",
                "Workers that did not tell their numbers in time.",
                self._left_out,
            ),
            Family(
                "quotaapi_worker_connections",
                "gauge",
                "Open connections.",
                each({n: place.connections for n, place in living.items()}),
            ),
            Family(
                "quotaapi_worker_requests_total",
                "counter",
                "Requests that a worker has answered since it was started.",
                each(requests),
            ),
            Family(
                "quotaapi_worker_restarts_total",
                "counter",
                "Times that a worker was started again.",
                each(self._restarts()),
            ),
        )
