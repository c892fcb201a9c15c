"""etcd's history of a prefix, revision by revision, told to an auditor."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from apis.meta.keys import INTERNAL
from apis.meta.transaction import Record
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Violation
from storage.interface import Backend, Expired, RawEvent

IDLE_SECONDS = 1.0
"""After this long without an event, what was read is compared with what etcd holds."""
LONGEST_IDLE_SECONDS = 8.0
"""An etcd that is busy needs its time to look up a long history, and every new watch makes it begin
again: so each one in a row that brings nothing is given twice as long. Less than a watch takes to doubt
its silence and write a marker, since an audit only reads."""
IDLE_ROUNDS = 12
"""Watches in a row that bring nothing, before the history is given up."""


class Unreadable(Exception):
    """The history that was asked for cannot be read to its end."""


@dataclass(frozen=True, slots=True)
class Span:
    """Revisions, both included; 0: the oldest that etcd still has, the newest at the start."""

    first: int = 0
    last: int = 0


async def audit(
    backend: Backend, span: Span, auditor: Auditor, report: Callable[[Violation], None]
) -> Span:
    """Check every revision of a span; answers the span that was read.

    Raises Unreadable, StorageError, Unavailable.
    """
    newest = await backend.current_revision()
    last = span.last or newest
    first = span.first or await _oldest(backend, last)
    if first > last:
        raise Unreadable(f"revision {first} is after revision {last}")
    if last > newest:
        raise Unreadable(f"revision {last} has not been made: the newest is {newest}")
    try:
        begun = await _everything(backend, first)
    except Expired:
        oldest = await _oldest(backend, newest)
        raise Unreadable(
            f"revision {first} is compacted: the oldest that etcd has is {oldest}"
        ) from None
    for violation in auditor.load(first, begun):
        report(violation)
    await _follow(backend, Span(first, last), auditor, report)
    if not (auditor.versions or auditor.statistics.changes):
        raise Unreadable(f"from revision {first} to {last} nothing lies there")
    return Span(first, last)


async def _oldest(backend: Backend, last: int) -> int:
    """The oldest revision that is not compacted; found by bisection, as etcd names it nowhere."""
    low, high = 1, last
    while low < high:
        middle = (low + high) // 2
        try:
            await backend.range("", limit=1, revision=middle)
        except Expired:
            low = middle + 1
        else:
            high = middle
    return low


async def _everything(backend: Backend, revision: int) -> Sequence[Record]:
    return (await backend.range("", revision=revision)).records


async def _follow(
    backend: Backend, span: Span, auditor: Auditor, report: Callable[[Violation], None]
) -> None:
    """Apply every revision after the first to the last.

    Other users of the etcd move its revision without an event here, so that the last revision
    may never be seen: the end is also where nothing more comes and what was read equals what etcd
    holds at the last revision.
    """
    reached, idle = span.first, 0
    while reached < span.last:
        before = reached
        # A silent watch is closed, for a later one to go on where it stopped.
        patience = min(IDLE_SECONDS * 2**idle, LONGEST_IDLE_SECONDS)
        async with aclosing(_history(backend, reached, patience)) as history:
            async for revision, events in history:
                if revision > span.last:
                    return
                reached = max(reached, revision)
                for violation in _verdict(auditor, revision, events):
                    report(violation)
                if reached == span.last:
                    return
        if await _is_complete(backend, span.last, auditor):
            return
        idle = idle + 1 if reached == before else 0
        if idle == IDLE_ROUNDS:
            raise Unreadable(f"no history after revision {reached}")


def _verdict(auditor: Auditor, revision: int, events: Sequence[RawEvent]) -> list[Violation]:
    """The accounts after a revision, and the positions of its events: watchers resume by them."""
    if not events:
        return []
    found = auditor.apply(revision, [(event.key, event.record) for event in events])
    for index, event in enumerate(events):
        if event.position != index:
            found.append(
                Violation(revision, event.key, "position", str(index), str(event.position))
            )
            auditor.statistics.violations += 1
    return found


async def _history(
    backend: Backend, after: int, patience_seconds: float
) -> AsyncGenerator[tuple[int, Sequence[RawEvent]], None]:
    """The events after a revision, until none has come for so long."""
    events = backend.events(after)
    while True:
        try:
            async with asyncio.timeout(patience_seconds):
                batch = await anext(events)
        except (TimeoutError, StopAsyncIteration):
            return
        yield batch


async def _is_complete(backend: Backend, last: int, auditor: Auditor) -> bool:
    stored = {r.key: r.mod_revision for r in await _everything(backend, last)}
    read = auditor.versions
    return _without_internal(stored) == _without_internal(read)


def _without_internal(versions: dict[str, int]) -> dict[str, int]:
    return {key: v for key, v in versions.items() if not key.startswith(INTERNAL)}
