"""Objects that are written without pause, and those who want them for a decision.

Who writes an object queues for it and hands it on to the next in the queue; as long as somebody
waits there, no batch gets it. A few writers that never pause would therefore keep every shoot of
a binding or quota waiting until its time is up. So a waiter that has waited for long queues like
one of them: for all the objects that its decision rests on, one after the other in the order of
kinds, which is everybody's order, so that no circle of waiters can form.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from apis.garden.v1beta1.bindings import BINDING_PLURALS
from apis.meta.keys import parse_object_key
from apis.meta.transaction import Transactor

_ORDER = (*sorted(BINDING_PLURALS.values()), "cloudprofiles", "quotas")


def objects_of(keys: Iterable[str]) -> list[str]:
    """Those of the keys that have writers who queue, in the order in which to queue for them."""
    ranked = []
    for key in keys:
        parsed = parse_object_key(key)
        if parsed is not None and parsed[0] in _ORDER:
            ranked.append((_ORDER.index(parsed[0]), key))
    return [key for _, key in sorted(ranked)]


@asynccontextmanager
async def holding(transactor: Transactor, keys: Iterable[str]) -> AsyncIterator[frozenset[str]]:
    """Hold the objects among `keys`; those that are held."""
    objects = objects_of(keys)
    async with AsyncExitStack() as held:
        for key in objects:
            await held.enter_async_context(transactor.claim_object(key))
        yield frozenset(objects)
