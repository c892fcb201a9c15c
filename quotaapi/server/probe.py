"""Whether etcd answers: asked now and then, so that health checks cost it nothing and wait for nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from apis.meta.transaction import TransactionError
from storage.interface import StorageError

INTERVAL_SECONDS: Final = 2.0
TIMEOUT_SECONDS: Final = 2.0


class EtcdProbe:
    """`run` it for as long as the server runs."""

    def __init__(
        self,
        ask: Callable[[], Awaitable[int]],
        *,
        look: Callable[[], Awaitable[None]],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`ask` is a linearizable read: only an etcd with a leader answers it. `look` is called
        after it, where etcd answers."""
        self._ask = ask
        self._look = look
        self._sleep = sleep
        self._fault = "etcd has not answered yet"

    def check(self) -> str:
        return self._fault

    async def run(self) -> None:
        while True:
            await self.once()
            await self._sleep(INTERVAL_SECONDS)

    async def once(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._ask()
                await self._look()
        except TimeoutError:
            self._fault = f"etcd has not answered for {TIMEOUT_SECONDS:g} s"
        except (TransactionError, StorageError) as error:
            self._fault = f"etcd: {error}"
        else:
            self._fault = ""
