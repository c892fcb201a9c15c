"""An etcd that is busy takes long to find a long history: it is waited for, and not for ever."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from apis.meta.keys import quota_references_key
from apis.meta.transaction import Header, Put, Transaction
from quotaapi.audit import history
from quotaapi.audit.history import Span, Unreadable, audit
from quotaapi.auditing.auditor import Auditor
from storage.interface import RawEvent
from tests.fakes.memory_backend import MemoryBackend

REVISIONS = 5


class Busy(MemoryBackend):
    """Each watch begins after `delay_seconds`."""

    def __init__(self, delay_seconds: float) -> None:
        super().__init__()
        self._delay_seconds = delay_seconds

    async def events(
        self, after_revision: int
    ) -> AsyncGenerator[tuple[int, Sequence[RawEvent]], None]:
        await asyncio.sleep(self._delay_seconds)
        async with aclosing(super().events(after_revision)) as found:
            async for batch in found:
                yield batch


async def busy(delay_seconds: float) -> Busy:
    backend = Busy(delay_seconds)
    for number in range(REVISIONS):
        key = quota_references_key("garden", f"quota-{number}")
        await backend.commit(Transaction({key: 0}, [Put(key, b"{}", Header(count=0))]))
    return backend


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "IDLE_SECONDS", 0.001)
    monkeypatch.setattr(history, "LONGEST_IDLE_SECONDS", 0.2)


async def test_a_history_that_takes_longer_than_the_first_patience_is_read() -> None:
    backend = await busy(0.05)
    auditor = Auditor()

    span = await audit(backend, Span(1), auditor, lambda _violation: None)

    assert span.last == backend.revision
    assert auditor.statistics.revisions == REVISIONS + 1


async def test_a_history_that_never_comes_is_given_up() -> None:
    backend = await busy(60)

    async with asyncio.timeout(20):
        with pytest.raises(Unreadable, match="no history after revision 1"):
            await audit(backend, Span(1), Auditor(), lambda _violation: None)
