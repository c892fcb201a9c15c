"""Linearizable reads that share requests.

Readers that ask while a request is under way gather, and the next request answers all of them:
it starts after every one of them asked, which is what linearizable means to each. So there is
one request at a time, however many ask, and nobody waits for more than two.
"""

import asyncio
from collections.abc import Collection, Mapping

from apis.meta.transaction import Snapshot, Unavailable
from storage.interface import Backend

Answer = tuple[int, Mapping[str, Snapshot]]


class _Round:
    """One request: the keys that it asks for, and how it ended."""

    __slots__ = ("answer", "error", "keys")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.answer: Answer | None = None
        self.error: Unavailable | None = None


class SharedReads:
    """`read` as `Backend.read`, but answered with other readers' keys besides one's own."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._turn = asyncio.Lock()
        self._gathering = _Round()

    async def read(self, keys: Collection[str]) -> Answer:
        """Raises Unavailable. Cancelled while it carries the request: another of the round does."""
        joined = self._gathering
        joined.keys.update(keys)
        async with self._turn:
            if joined.answer is None and joined.error is None:
                if joined is self._gathering:
                    self._gathering = _Round()
                try:
                    joined.answer = await self._backend.read(joined.keys)
                except Unavailable as error:
                    joined.error = error
        if joined.answer is None:
            # A new exception for everybody: one that is raised twice grows a wrong traceback.
            failed = type(joined.error) if joined.error is not None else Unavailable
            raise failed(str(joined.error)) from joined.error
        return joined.answer
