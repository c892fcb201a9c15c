"""The registry of all kinds on the real claims, watch cache and gate; only etcd is in memory."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from admission.interface import Intent
from admission.quota.evaluator import Evaluator
from admission.quota.ledger import Surroundings
from apis.meta.request import Attributes
from apis.meta.transaction import Committed, Object, Record
from quotaapi.directory import CacheDirectory
from quotaapi.registry.heavy import Heavy
from quotaapi.registry.identity import new_uid
from quotaapi.registry.rest import Rest
from quotaapi.resources.stores import extracts, stores
from storage.stack import build
from tests.fakes.memory_backend import MemoryBackend


async def _nothing(_attributes: Attributes) -> None:
    return None


def _now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


@asynccontextmanager
async def a_registry() -> AsyncIterator[tuple[Mapping[str, Rest], MemoryBackend]]:
    backend = MemoryBackend()
    stack = build(
        backend=backend,
        commit=backend.commit,
        max_operations=128,
        extracts=extracts(),
        monotonic=time.monotonic,
        jitter=lambda: 0.5,
    )
    gate = Evaluator(stack.transactor, Surroundings(CacheDirectory(stack.reader), _now, new_uid))

    async def admit(
        attributes: Attributes, key: str, old: Record | None, obj: Object | None
    ) -> Committed | None:
        return await gate.admit(Intent(attributes, key, old, obj))

    served = stores(
        reader=stack.reader,
        transactor=stack.transactor,
        mutate=_nothing,
        validate=_nothing,
        admit=admit,
        clock=_now,
        heavy=Heavy(),
    )
    tasks = [asyncio.ensure_future(stack.reflector.run()), asyncio.ensure_future(gate.run())]
    try:
        assert await stack.reflector.wait_until_synced(10.0)
        yield served, backend
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
