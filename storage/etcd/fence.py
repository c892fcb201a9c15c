"""A key of this process that each of its Txns compares.

Raising it makes every Txn that was put together before inapplicable for good, wherever in the
network it still is, and however often. It is raised where an outcome has to be found out, and by
each Txn that nothing else keeps from being applied twice (`merging.Group.raises_fence`). It is
absent until then, and never removed: what is absent again would let through what compared it as
absent. So it costs some 150 bytes for each process that ever served.
"""

from apis.meta.keys import INTERNAL
from storage.etcd import records, wire
from storage.etcd.store import EtcdStore


class Fence:
    """`name` is `key` in base64, `revision` where it is to be found, 0 for absent."""

    def __init__(self, store: EtcdStore, process: str) -> None:
        self._store = store
        self.key = f"{INTERNAL}fences/{process}"
        self.name = wire.b64(store.full_key(self.key))
        self.revision = 0

    async def shut(self, timeout_seconds: float) -> int:
        """Raise the fence; its new revision. Raises Unanswered and Unavailable: try again.

        A lost answer does no harm: a fence that was raised twice is as good, and a Txn that meets
        an unknown revision of it fails and learns it.
        """
        put = b'{"key":"%b","value":"%b"}' % (self.name, wire.b64(records.MARKER))
        answer = await self._store.client.call("/kv/put", put, timeout_seconds=timeout_seconds)
        self.revision = self._store.note(answer)
        return self.revision
