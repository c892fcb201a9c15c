"""One replica's write path without HTTP: evaluator, transactor and cache over a shared backend."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from admission.interface import Intent
from admission.quota.evaluator import Evaluator
from admission.quota.ledger import Surroundings
from apis.garden.v1beta1.register import BY_KIND, RESOURCES
from apis.meta.errors import StatusError
from apis.meta.keys import object_key
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Committed, Conflict, Object
from quotaapi.directory import CacheDirectory
from storage.interface import Facts
from storage.stack import Stack, build
from storage.transactor import Commit
from tests.fakes.memory_backend import MemoryBackend
from tests.storage_kit import QUICK

EXTRACTS = {resource.plural: lambda key, obj: Facts() for resource in RESOURCES}


class Replica:
    def __init__(self, stack: Stack, evaluator: Evaluator) -> None:
        self.stack = stack
        self.evaluator = evaluator

    async def write(
        self, obj: Object | None, kind: str, namespace: str, name: str, *, dry_run: bool = False
    ) -> Committed | None:
        """As the registry does: claim, read, judge and store; again when the object moved."""
        resource = BY_KIND[kind]
        key = object_key(resource.plural, namespace, name)
        transactor = self.stack.transactor
        async with transactor.claim_object(key):
            while True:
                old = (await transactor.newest([key]))[key].record
                operation = Operation.CREATE if old is None else Operation.UPDATE
                attributes = Attributes(
                    operation=operation if obj is not None else Operation.DELETE,
                    resource=resource,
                    namespace=namespace,
                    name=name,
                    user=UserInfo("alice"),
                    obj=obj,
                    old=old.object() if old is not None else None,
                    dry_run=dry_run,
                )
                try:
                    return await self.evaluator.admit(Intent(attributes, key, old, obj))
                except Conflict:
                    continue

    async def put(self, obj: Object, *, dry_run: bool = False) -> Committed | None:
        metadata = obj["metadata"]
        return await self.write(
            obj, obj["kind"], metadata.get("namespace", ""), metadata["name"], dry_run=dry_run
        )

    async def admits(self, obj: Object) -> bool:
        try:
            await self.put(obj)
        except StatusError as refused:
            code = refused.code
        else:
            return True
        assert code == 403
        return False


@asynccontextmanager
async def replica(
    backend: MemoryBackend,
    commit: Commit | None = None,
    **of_evaluator: object,
) -> AsyncIterator[Replica]:
    stack = build(
        backend=backend,
        commit=commit or backend.commit,
        max_operations=128,
        extracts=EXTRACTS,
        monotonic=time.monotonic,
        jitter=lambda: 0.5,
        pace=QUICK,
    )
    reflecting = asyncio.ensure_future(stack.reflector.run())
    try:
        assert await stack.reflector.wait_until_synced(10.0)
        ids = itertools.count()
        around = Surroundings(
            CacheDirectory(stack.reader),
            lambda: datetime(2026, 1, 1, tzinfo=UTC),
            lambda: f"uid-{next(ids)}",
        )
        evaluator = Evaluator(stack.transactor, around, **of_evaluator)  # type: ignore[arg-type]
        serving = asyncio.ensure_future(evaluator.run())
        try:
            yield Replica(stack, evaluator)
        finally:
            evaluator.close()
            await asyncio.wait_for(serving, 10)
    finally:
        reflecting.cancel()
        await asyncio.wait([reflecting])
