"""Work on large values, in threads: the event loop serves others meanwhile.

What the registry does to an object without waiting for anything (decoding, defaults, validation,
ownership, patches) takes Python some milliseconds per 10 KiB. On an object of ordinary size that
is less than going to a thread costs; on one of a megabyte everybody would wait for a second. So
a step is done here or there by the size of what it works on:

    found = await heavy.step(size, step, obj)

Who knows better from which size on it is slow (YAML, selectors) asks itself, and `run`s it.

A step must be pure: of what others can see it changes nothing, and what it changes (the object of
its own request) nobody else touches until it has ended. It holds no claims' or caches' state.

What a request has begun goes before what another is about to begin: of all large bodies that wait
only a few are decoded at a time, and a decoded body takes ten times its bytes.

The threads take turns with the event loop at the interpreter's switch interval, which
`make_way_for_the_loop` shortens: the loop asks for its turn several times per request.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar

from apis.meta import errors
from apis.meta.transaction import Record

P = ParamSpec("P")
T = TypeVar("T")

LARGE_BYTES: Final = 16 * 1024
"""As JSON. On the worst of content all steps of a request together take 1.6 ms per KiB."""

_THREADS: Final = 2
"""Not for speed, since they share one interpreter: so that a body of 100 KiB need not wait until
one of 3 MiB is done."""

MAX_WAITING_BYTES: Final = 48 * 1024 * 1024
"""Half a minute's work."""

_SWITCH_SECONDS: Final = 0.001


class Heavy:
    """The threads, and what waits for them."""

    def __init__(
        self, *, threads: int = _THREADS, max_waiting_bytes: int = MAX_WAITING_BYTES
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="heavy")
        self._max_waiting_bytes = max_waiting_bytes
        self._turns = _Turns(threads)
        self._loop_turn = asyncio.Lock()
        self.waiting_bytes = 0
        self.arriving_bytes = 0

    async def turn(self) -> None:
        """Wait, before some milliseconds' work on the loop: of all who do, one works in each of the
        loop's turns, in the order in which they came, and everybody else gets on in between."""
        # Held over a turn: who comes meanwhile waits, and only one of these is woken then.
        async with self._loop_turn:
            await asyncio.sleep(0)

    async def begin(self, size: int, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `run`, for the first step of a request. Raises 429 where too many bytes wait."""
        if self.waiting_bytes and self.waiting_bytes + size > self._max_waiting_bytes:
            raise errors.too_many_requests("Too many large requests, please try again later.")
        return await self._run(size, lambda: step(*args, **kwargs), begins=True)

    async def run(self, size: int, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`step(...)`, in a thread; raises what it raises. `size`: bytes that it works on.

        Cancelled: a step that has not begun is not done.
        """
        return await self._run(size, lambda: step(*args, **kwargs), begins=False)

    async def step(self, size: int, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`step(...)`: at once where `size` is below LARGE_BYTES, else as `run`."""
        if size < LARGE_BYTES:
            return step(*args, **kwargs)
        return await self._run(size, lambda: step(*args, **kwargs), begins=False)

    def arrived(self, size: int) -> None:
        """More bytes of a large body that has not come as a whole; negative: they are accounted for
        elsewhere. Raises 429 where too many have come."""
        if size > 0 and self.arriving_bytes + size > self._max_waiting_bytes:
            raise errors.too_many_requests("Too many large requests, please try again later.")
        self.arriving_bytes += size

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """Around whatever a large request waits for elsewhere, a claim or etcd: it is there meanwhile."""
        self.waiting_bytes += size
        try:
            yield
        finally:
            self.waiting_bytes -= size

    async def _run(self, size: int, step: Callable[[], T], *, begins: bool) -> T:
        self.waiting_bytes += size
        try:
            await self._turns.take(begins=begins)
            done = self._submit(step, begins=begins)
            try:
                return await asyncio.wrap_future(done)
            finally:
                # Cancelled: the thread is busy until the step ends all the same.
                self._turns.give_back_when(done, asyncio.get_running_loop())
                del done  # else its error, this frame and it keep each other, and a large object
        finally:
            self.waiting_bytes -= size

    def _submit(self, step: Callable[[], T], *, begins: bool) -> "Future[T]":
        try:
            return self._threads.submit(step)
        except RuntimeError:  # closed, and the client's handshake took as long as the stop
            self._turns.give_back()
            if begins:
                raise errors.service_unavailable("the server is shutting down") from None
            # What has begun may be stored already: no answer rather than one that denies it.
            raise ConnectionError("the server is torn down") from None

    def close(self) -> None:
        """What runs still ends; nothing begins any more: 503, or no answer where it has begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Breath:
    """What is worked on in one go: no more records, and no more bytes of them, but at least one."""

    records: int
    record_bytes: int


DECODED: Final = Breath(50, 256 * 1024)
"""Records that are decoded and looked at: some milliseconds."""


def breaths(records: Sequence[Record], breath: Breath) -> Iterator[Sequence[Record]]:
    """Who walks over stored objects on the event loop lets others have a turn after each of these."""
    start = size = 0
    for at, record in enumerate(records):
        size += len(record.body)
        if at > start and (at - start >= breath.records or size > breath.record_bytes):
            yield records[start:at]
            start, size = at, len(record.body)
    if start < len(records):
        yield records[start:]


class _Turns:
    """Who of those that wait gets the next free thread."""

    def __init__(self, free: int) -> None:
        self._free = free
        self._going_on: deque[asyncio.Future[None]] = deque()
        self._beginning: deque[asyncio.Future[None]] = deque()

    async def take(self, *, begins: bool) -> None:
        if self._free and not self._going_on and not (begins and self._beginning):
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._beginning if begins else self._going_on).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise

    def give_back_when(self, done: Future[Any], loop: asyncio.AbstractEventLoop) -> None:
        if done.done():
            self.give_back()
        else:
            done.add_done_callback(lambda _: self._give_back_from_thread(loop))

    def _give_back_from_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self.give_back)

    def give_back(self) -> None:
        for waiting in (self._going_on, self._beginning):
            while waiting:
                turn = waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
                    return
        self._free += 1


def make_way_for_the_loop() -> None:
    """For the whole process. Costs nothing while there is one thread that works."""
    sys.setswitchinterval(_SWITCH_SECONDS)
