"""Objects, transactions and a running storage stack for tests of storage."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from apis.meta.keys import object_key, resource_prefix
from apis.meta.transaction import Delete, Object, Put, Record, Transaction, encode_body
from storage.cache.reader import PATIENCE, Patience
from storage.cache.reflector import Pace
from storage.interface import Backend, Event, Extract, Facts, RawEvent, Subscription
from storage.stack import DEFAULT_LIMITS, Limits, Stack, build
from storage.transactor import Commit

SHOOTS = resource_prefix("shoots")
QUOTAS = resource_prefix("quotas")
QUICK = Pace(first_delay_seconds=0.001, longest_delay_seconds=0.01)


def facts(key: str, obj: Object) -> Facts:
    metadata = obj["metadata"]
    binding = obj.get("spec", {}).get("binding")
    return Facts(
        labels=metadata.get("labels", {}),
        fields={"metadata.name": metadata["name"]},
        indexes={"binding": (binding,)} if binding else {},
    )


EXTRACTS: Mapping[str, Extract] = {"shoots": facts, "quotas": facts, "cloudprofiles": facts}


def shoot_key(name: str, namespace: str = "garden-core") -> str:
    return object_key("shoots", namespace, name)


def a_body(key: str, *, labels: Mapping[str, str] | None = None, binding: str = "") -> bytes:
    metadata: Object = {"name": key.rsplit("/", 1)[-1]}
    if labels:
        metadata["labels"] = dict(labels)
    obj: Object = {"apiVersion": "v1beta1", "kind": "Shoot", "metadata": metadata}
    if binding:
        obj["spec"] = {"binding": binding}
    return encode_body(obj)


def a_record(key: str, revision: int, position: int = 0, **of_body: object) -> Record:
    return Record(key, revision, position, a_body(key, **of_body))  # type: ignore[arg-type]


def a_put(key: str, **of_body: object) -> Put:
    return Put(key, a_body(key, **of_body))  # type: ignore[arg-type]


def creating(*keys: str) -> Transaction:
    return Transaction(dict.fromkeys(keys, 0), [a_put(key) for key in keys])


def deleting(key: str, mod_revision: int) -> Transaction:
    return Transaction({key: mod_revision}, [Delete(key)])


def put_event(key: str, revision: int, position: int = 0, **of_body: object) -> RawEvent:
    return RawEvent(key, a_record(key, revision, position, **of_body), revision, position)


def removal(key: str, revision: int, position: int = 0) -> RawEvent:
    return RawEvent(key, None, revision, position)


def versions(events: Sequence[Event]) -> list[int]:
    return [event.resource_version for event in events]


async def take(subscription: Subscription, count: int, timeout_seconds: float = 5.0) -> list[Event]:
    """The next `count` events; fewer only when none comes in time."""
    events: list[Event] = []
    while len(events) < count:
        more = await subscription.next(timeout_seconds)
        if not more:
            break
        events += more
    return events


def a_stack(
    backend: Backend,
    commit: Commit,
    *,
    pace: Pace = QUICK,
    limits: Limits = DEFAULT_LIMITS,
    patience: Patience = PATIENCE,
) -> Stack:
    return build(
        backend=backend,
        commit=commit,
        max_operations=128,
        extracts=EXTRACTS,
        monotonic=time.monotonic,
        jitter=random.Random(7).random,
        limits=limits,
        pace=pace,
        patience=patience,
    )


@asynccontextmanager
async def running(
    backend: Backend,
    commit: Commit,
    *,
    pace: Pace = QUICK,
    limits: Limits = DEFAULT_LIMITS,
    patience: Patience = PATIENCE,
) -> AsyncIterator[Stack]:
    """A stack whose reflector runs and has synced."""
    stack = a_stack(backend, commit, pace=pace, limits=limits, patience=patience)
    # No TaskGroup: it would wrap a failed assertion of the test in a group.
    reflecting = asyncio.ensure_future(stack.reflector.run())
    try:
        assert await stack.reflector.wait_until_synced(10.0)
        yield stack
    finally:
        reflecting.cancel()
        await asyncio.wait([reflecting])
    assert reflecting.cancelled(), reflecting.exception()
