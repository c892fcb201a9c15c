"""Leases: a key that lives for as long as its owner keeps saying so.

Who holds the key has exclusive rights that end by themselves. A holder that was paused may believe
in its rights for longer than etcd does; so nothing rests on its belief: what it writes is guarded
by the key's mod_revision, and a key that is gone or another's fails that compare.
"""

from apis.meta.transaction import Unavailable
from storage.etcd import records, wire
from storage.etcd.refusals import Unanswered
from storage.etcd.store import EtcdStore

_NO_ID = b"0000000000000000"


class Leases:
    """Calls of etcd's lease API. What was not answered is safe to leave: it expires."""

    def __init__(self, store: EtcdStore, *, timeout_seconds: float = 3.0) -> None:
        self._store = store
        self._timeout_seconds = timeout_seconds

    async def grant(self, ttl_seconds: int) -> str:
        """A new lease's id. Raises Unavailable."""
        answer = await self._call("/lease/grant", {"TTL": str(ttl_seconds)})
        return str(answer["ID"])

    async def keep_alive(self, lease: str) -> float:
        """Seconds that the lease has from now on; 0 where it has ended. Raises Unavailable."""
        answer = await self._call("/lease/keepalive", {"ID": lease})
        return float(wire.number(answer.get("result", {}), "TTL"))

    async def revoke(self, lease: str) -> None:
        """End it, and remove its keys. Raises Unavailable, also where it has ended already."""
        await self._call("/lease/revoke", {"ID": lease})

    async def holder(self, key: str) -> int:
        """The mod_revision of `key`, linearizable; 0 where nobody holds it. Raises Unavailable."""
        _, found = await self._store.read([key])
        return found[key].mod_revision

    async def take(self, key: str, lease: str, body: bytes) -> int:
        """Create `key`, which ends with the lease; its mod_revision, 0 where somebody has it.

        Raises Unavailable: then it may have been created all the same, and `lease` must not be
        used again.
        """
        name = wire.b64(self._store.full_key(key))
        value = wire.b64(records.mark(0, _NO_ID) + b"}\n" + body)
        request = (
            b'{"compare":[{"key":"%b","target":"MOD","result":"EQUAL","mod_revision":"0"}],'
            b'"success":[{"request_put":{"key":"%b","value":"%b","lease":"%b"}}],'
            b'"failure":[{"request_range":{"key":"%b"}}]}'
            % (name, name, value, lease.encode(), name)
        )
        answer = await self._send("/kv/txn", request)
        if answer.get("succeeded"):
            return wire.revision_of(answer)
        # What stands before etcd may have sent it twice: then the key is there, with this lease.
        for found in answer["responses"][0]["response_range"].get("kvs", ()):
            if found.get("lease") == lease:
                return wire.number(found, "mod_revision")
        return 0

    async def _call(self, method: str, message: wire.Message) -> wire.Message:
        return await self._send(method, wire.encode(message))

    async def _send(self, method: str, body: bytes) -> wire.Message:
        try:
            answer = await self._store.client.call(
                method, body, timeout_seconds=self._timeout_seconds
            )
        except Unanswered as error:
            raise Unavailable(str(error)) from error
        self._store.note(answer.get("result", answer))
        return answer
