"""A key of this process that each of its Txns compares.

Raising it makes every Txn that was put together before inapplicable for good, wherever in the
network it still is. It is absent until an outcome first has to be found out.
"""

import asyncio

from apis.meta.keys import INTERNAL
from storage.etcd import records, wire
from storage.etcd.refusals import Unanswered
from storage.etcd.store import EtcdStore

_PAUSE_SECONDS = 0.05


class Fence:
    """`name` is the key in base64, `revision` where it is to be found, 0 for absent."""

    def __init__(self, store: EtcdStore, process: str) -> None:
        self._store = store
        self.name = wire.b64(store.full_key(f"{INTERNAL}fences/{process}"))
        self.revision = 0

    async def shut(self) -> int:
        """Raise the fence; its new revision. Tries until etcd answers: the caller has the deadline.

        A lost answer does no harm: a fence that was raised twice is as good, and a Txn that meets
        an unknown revision of it fails and learns it. Raises Unavailable.
        """
        put = b'{"key":"%b","value":"%b"}' % (self.name, wire.b64(records.MARKER))
        while True:
            try:
                answer = await self._store.client.call("/kv/put", put)
            except Unanswered:
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                self.revision = self._store.note(answer)
                return self.revision
