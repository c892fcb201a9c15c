"""`World`'s twin with the whole server logic in it: registry, gate, claims, cache; etcd in memory."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

from apis.garden.v1beta1.register import BY_KIND
from apis.meta.codec import Decoded
from apis.meta.errors import StatusError
from apis.meta.keys import object_key
from apis.meta.transaction import Object, Record
from quotaapi.registry.options import DeleteOptions, WriteOptions
from tests.fakes.registry_rig import USER
from tests.fakes.stored_registry import a_registry

WRITE = WriteOptions()


class ServedWorld:
    """Synchronous outside; `close` it. What a client does in two requests (read, replace) is `put`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._exits = AsyncExitStack()
        self._served, self._backend = self._loop.run_until_complete(
            self._exits.enter_async_context(a_registry())
        )

    def close(self) -> None:
        self._loop.run_until_complete(self._exits.aclose())
        self._loop.close()

    @property
    def records(self) -> Mapping[str, Record]:
        """Everything that the store holds, hidden ledgers too, at its newest revision."""
        page = self._loop.run_until_complete(self._backend.range(""))
        return {record.key: record for record in page.records}

    def get(self, key: str) -> Object:
        return self.records[key].object()

    def put(self, obj: Object) -> None:
        self._loop.run_until_complete(self._put(obj))

    def delete(self, kind: str, namespace: str, name: str) -> None:
        rest = self._served[BY_KIND[kind].plural]
        self._loop.run_until_complete(rest.delete(USER, namespace, name, DeleteOptions()))

    def put_together(self, objects: list[Object]) -> list[bool]:
        """Side by side: whether each was admitted."""

        async def all_of_them() -> list[bool]:
            outcomes = await asyncio.gather(
                *(self._put(obj) for obj in objects), return_exceptions=True
            )
            for outcome in outcomes:
                if outcome is not None and not isinstance(outcome, StatusError):
                    raise outcome
            return [outcome is None for outcome in outcomes]

        return self._loop.run_until_complete(all_of_them())

    async def _put(self, obj: Object) -> None:
        resource, metadata = BY_KIND[obj["kind"]], obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        rest = self._served[resource.plural]
        key = object_key(resource.plural, namespace, name)
        stored = (await self._backend.read([key]))[1][key].record
        if stored is None:
            await rest.create(USER, namespace, Decoded(obj), WRITE)
            return
        version = str(stored.resource_version)
        versioned = obj | {"metadata": metadata | {"resourceVersion": version}}
        await rest.update(USER, namespace, name, Decoded(versioned), WRITE)
