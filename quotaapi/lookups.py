"""What admission's plugins look up, over the newest records: `admission.plugins.lookups`."""

from collections.abc import Mapping, Sequence
from typing import Any

from admission.metering.cache import Parsed
from admission.plugins.lookups import SHOOTS
from admission.quota.views import quota_references
from apis.garden.v1beta1.register import BY_KIND, CLOUD_PROFILE, QUOTA, SHOOT_LIMIT_RANGE
from apis.meta.keys import object_key, resource_prefix
from apis.meta.transaction import Committed, Object, Record, Transactor
from storage.interface import ListOptions, Reader


class NewestRecords:
    """Profiles, AllProfiles, Shoots, LimitRanges and BindingQuotas in one: all read the same newest records.

    What seems to be absent is asked for: a binding that another replica has just made would
    otherwise count as one whose quotas set no lifetime.

    The ranges of a namespace are a list, which only the cache has; it is made to wait for what
    this server itself wrote, so that a range holds for the request after the one that made it.
    """

    def __init__(self, reader: Reader, transactor: Transactor) -> None:
        self._reader = reader
        self._transactor = transactor
        self._quota_keys = Parsed(_quota_keys)
        self._ranges_written = 0

    def learn_ranges(self, committed: Committed) -> None:
        """A limit range was written: later lists must have it."""
        versions = [record.resource_version for record in committed.records.values()]
        newest = max([*versions, *committed.deleted.values()], default=0)
        self._ranges_written = max(self._ranges_written, newest)

    async def profile(self, name: str) -> Record | None:
        return await self._newest(object_key(CLOUD_PROFILE.plural, "", name))

    async def profiles(self, *, newest: bool) -> Sequence[Record]:
        prefix = resource_prefix(CLOUD_PROFILE.plural, "")
        cached = None if newest else self._reader.cached(prefix)
        if cached is not None:
            return cached
        return (await self._reader.list(prefix, ListOptions())).records

    async def stored_prices(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        record = await self._newest(object_key(SHOOTS, namespace, name))
        return record.header.prices if record is not None else None

    async def limit_ranges(self, namespace: str) -> Sequence[Record]:
        prefix = resource_prefix(SHOOT_LIMIT_RANGE.plural, namespace)
        cached = self._reader.cached(prefix, not_older_than=self._ranges_written)
        if cached is not None:
            return cached
        version = self._ranges_written if self._reader.synced else None
        page = await self._reader.list(prefix, ListOptions(resource_version=version))
        return page.records

    async def quotas_of(self, namespace: str, kind: str, name: str) -> Sequence[Record]:
        resource = BY_KIND.get(kind)
        if resource is None:
            return ()
        binding = await self._newest(object_key(resource.plural, namespace, name))
        if binding is None:
            return ()
        keys = self._quota_keys.of_record(binding)
        records = [await self._newest(key) for key in keys]
        return [record for record in records if record is not None]

    async def _newest(self, key: str) -> Record | None:
        known = self._transactor.known(key)
        if known is not None and known.record is not None:
            return known.record
        found = (await self._transactor.newest((key,)))[key]
        if found.record is None and not await self._transactor.confirm({key: 0}):
            found = (await self._transactor.newest((key,)))[key]
        return found.record


def _quota_keys(binding: Object) -> Sequence[str]:
    return [object_key(QUOTA.plural, *quota) for quota in quota_references(binding)]
