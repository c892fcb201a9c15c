"""Writes, in tasks of the server's own.

A write must not end half-way because its client went away: its transaction may be on the way to
etcd, its claims and its place in a batch belong to others' decisions too. So the endpoint hands it
over and waits; a client that leaves cancels the waiting, not the write.
"""

import asyncio
import inspect
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from apis.meta import errors

T = TypeVar("T")


class Mutations:
    """Owner of every running write; `limit` bounds their number, 429 tells the rest to come again."""

    def __init__(self, tasks: asyncio.TaskGroup, limit: int) -> None:
        self._tasks = tasks
        self._limit = limit
        self._running = 0
        self._writes: set[asyncio.Task[None]] = set()
        self._ended = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running(self) -> int:
        return self._running

    @property
    def limit(self) -> int:
        return self._limit

    @property
    def full(self) -> bool:
        return self._running >= self._limit

    async def run(self, write: Coroutine[Any, Any, T]) -> T:
        """Raises what `write` raises, StatusError 503 once the server takes no more writes.

        Cancelled while it waits: `write` goes on to its end.
        """
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        task = self._begin(write, outcome)
        self._running += 1
        self._idle.clear()
        self._writes.add(task)
        task.add_done_callback(partial(self._done, write, outcome))
        try:
            return await outcome
        finally:
            # An error holds the frames that it went through: were the future that holds the error
            # in one of them, a refused object would stay until the garbage collector comes.
            del outcome

    def _begin(
        self, write: Coroutine[Any, Any, T], outcome: "asyncio.Future[T]"
    ) -> "asyncio.Task[None]":
        carrying = self._carry_out(write, outcome)
        if not self._ended:
            # The group itself takes no more where one of the server's own tasks failed.
            with suppress(RuntimeError):
                return self._tasks.create_task(carrying)
        carrying.close()
        write.close()
        raise errors.service_unavailable("the server is shutting down; nothing was written")

    async def _carry_out(self, write: Coroutine[Any, Any, T], outcome: "asyncio.Future[T]") -> None:
        try:
            result = await write
        # Whatever went wrong is the waiting endpoint's to answer; in this task, which nobody
        # awaits, it would end the server.
        except Exception as error:  # noqa: BLE001
            if not outcome.done():
                outcome.set_exception(error)
        else:
            if not outcome.done():
                outcome.set_result(result)
        finally:
            outcome.cancel()  # the server is being torn down: nobody waits for ever
            del outcome  # as above
            self._left()

    def _done(
        self,
        write: Coroutine[Any, Any, T],
        outcome: "asyncio.Future[T]",
        task: "asyncio.Task[None]",
    ) -> None:
        self._writes.discard(task)
        if task.cancelled() and inspect.getcoroutinestate(write) == inspect.CORO_CREATED:
            # Before its first step: nothing of _carry_out was done.
            write.close()
            outcome.cancel()
            self._left()

    def _left(self) -> None:
        self._running -= 1
        if not self._running:
            self._idle.set()

    def cut_off(self) -> None:
        """End those that are still running, once nothing more goes to etcd; none begins any more.

        Requests still come: by connections whose handshake took as long as the stop.
        """
        self._ended = True
        for write in self._writes:
            write.cancel()

    async def wait_idle(self, timeout_seconds: float) -> bool:
        """Whether all writes ended in time."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True


def refuse_when_full(mutations: Mutations) -> None:
    if mutations.full:
        raise errors.too_many_requests("Too many requests, please try again later.")
