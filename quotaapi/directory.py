"""Who refers to whom, from the watch cache's indexes: `admission.quota.ledger.Directory`."""

from collections.abc import Sequence
from contextlib import suppress

from apis.garden.v1beta1.bindings import BINDING_PLURALS
from apis.meta.keys import parse_object_key
from apis.meta.transaction import Unavailable
from storage.interface import Reader, StorageError


class CacheDirectory:
    """For messages and for refreshing what is shown; no decision rests on it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def shoots_of(self, binding_key: str, limit: int) -> Sequence[str]:
        return self._names("shoots", "binding", _path(binding_key), limit)

    def bindings_of(self, namespace: str, name: str, limit: int) -> Sequence[str]:
        found: list[str] = []
        for plural in sorted(BINDING_PLURALS.values()):
            if len(found) < limit:
                found += self._names(plural, "quota", f"{namespace}/{name}", limit - len(found))
        return found

    def usages_of(self, namespace: str, name: str, limit: int) -> Sequence[str]:
        value = f"{namespace}/{name}"
        records = self._reader.by_index("quotausages", "quota", value, limit=limit)
        return [record.key for record in records]

    async def catch_up(self) -> None:
        # The names are a help, and the decision does without: who is away is told elsewhere.
        with suppress(StorageError, Unavailable):
            await self._reader.current_version()

    def _names(self, plural: str, index: str, value: str, limit: int) -> list[str]:
        records = self._reader.by_index(plural, index, value, limit=limit)
        keys = (record.key for record in records)
        return [key.split("/", 2)[2] for key in keys]


def _path(key: str) -> str:
    """`<plural>/<namespace>/<name>`, as the shoots' index names a binding."""
    parsed = parse_object_key(key)
    if parsed is None:
        raise ValueError(f"not an object's key: {key}")
    return "/".join(parsed)
