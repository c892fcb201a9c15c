"""A replica over a backend in memory that holds the leader's key, and an auditor for what it did."""

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from admission.interface import Mandate
from apis.meta.transaction import Committed, Delete, Header, Put, Transaction
from quotaapi.audit.history import Span, audit
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Violation
from quotaapi.controllers.leader import KEY
from tests import builders
from tests.fakes.memory_backend import MemoryBackend
from tests.unit.quota.replica import Replica, replica

T = TypeVar("T")

QUOTA = "garden.sapcloud.io/quotas/garden-trial/quota"
USAGE = "garden.sapcloud.io/quotausages/garden-dev/garden-trial.quota"
LEDGER = ".ledger/bindings/crosssecretbindings/garden-dev/binding"
REFERENCES = ".ledger/quotas/garden-trial/quota"


async def directly(write: Coroutine[Any, Any, T]) -> T:
    """Carries a write out where it is."""
    return await write


class Leading:
    """A quota of 1000 cpu, a binding that names it, and the profile "aws"."""

    def __init__(self, backend: MemoryBackend, one: Replica, mandate: Mandate) -> None:
        self.backend = backend
        self.one = one
        self.granted = mandate

    def mandate(self) -> Mandate:
        return self.granted

    async def depose(self) -> None:
        """Another replica takes the key; this one is not told."""
        await self.overwrite(Put(KEY, b"{}"))

    async def overwrite(self, write: Put | Delete) -> Committed:
        """As somebody does who writes past the server."""
        _, seen = await self.backend.read([write.key])
        committed = await self.backend.commit(
            Transaction({write.key: seen[write.key].mod_revision}, [write])
        )
        await self.one.stack.reflector.wait_for_revision(committed.revision, 5)
        return committed

    async def spoil(self, key: str, header: Header) -> None:
        """Give a ledger another sum."""
        _, seen = await self.backend.read([key])
        record = seen[key].record
        await self.overwrite(Put(key, record.body if record is not None else b"{}", header))

    async def charge(self, key: str) -> dict[str, str]:
        _, seen = await self.backend.read([key])
        record = seen[key].record
        return dict(record.header.charge or {}) if record is not None else {}

    async def violations(self, *, first: int = 0, growth: bool = False) -> list[Violation]:
        """What an audit says of every revision from `first` on; of the newest alone by default."""
        found: list[Violation] = []
        span = Span(first or self.backend.revision, self.backend.revision)
        await audit(self.backend, span, Auditor(growth=growth), found.append)
        return found


@asynccontextmanager
async def leading() -> AsyncIterator[Leading]:
    backend = MemoryBackend()
    async with replica(backend) as one:
        await one.put(builders.a_profile())
        await one.put(builders.a_quota(metrics={"cpu": "1000"}))
        await one.put(builders.a_binding(quotas=["quota"]))
        taken = await backend.commit(Transaction({KEY: 0}, [Put(KEY, b"{}")]))
        assert await one.stack.transactor.confirm({KEY: taken.revision})
        yield Leading(backend, one, Mandate(KEY, taken.revision))
