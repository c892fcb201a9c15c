"""What plugins look up over the newest records."""

from collections.abc import Collection, Mapping, Sequence

from apis.garden.v1beta1.register import BY_KIND
from apis.meta.keys import object_key
from apis.meta.transaction import (
    Committed,
    Header,
    Object,
    Put,
    Record,
    Snapshot,
    Transaction,
    encode_body,
)
from quotaapi.lookups import NewestRecords
from storage.interface import ListOptions, Page
from tests.builders import a_binding, a_profile, a_quota, a_shoot, an_object
from tests.fakes.memory_registry import MemoryStore


class Watched(MemoryStore):
    """Remembers how it was asked for lists."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ListOptions] = []

    async def list(self, prefix: str, options: ListOptions) -> Page:
        self.asked.append(options)
        return await super().list(prefix, options)


def key_of(obj: Object) -> str:
    metadata = obj["metadata"]
    plural = BY_KIND[obj["kind"]].plural
    return object_key(plural, metadata.get("namespace", ""), metadata["name"])


def store(memory: MemoryStore, obj: Object, header: Header | None = None) -> Committed:
    key = key_of(obj)
    return memory.apply(Transaction({key: 0}, [Put(key, encode_body(obj), header or Header())]))


async def test_a_bindings_quotas_are_those_that_exist_in_its_order() -> None:
    memory = Watched()
    store(memory, a_binding(quotas=("second", "missing", "first")))
    for name in ("first", "second"):
        store(memory, a_quota(name=name))

    found = await NewestRecords(memory, memory).quotas_of(
        "garden-dev", "CrossSecretBinding", "binding"
    )

    assert [record.object()["metadata"]["name"] for record in found] == ["second", "first"]


async def test_a_binding_or_kind_that_does_not_exist_has_no_quotas() -> None:
    newest = NewestRecords(memory := Watched(), memory)

    assert await newest.quotas_of("garden-dev", "CrossSecretBinding", "none") == ()
    assert await newest.quotas_of("garden-dev", "Bogus", "binding") == ()


class Behind(MemoryStore):
    """Another replica has written everything: it is known here only once it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.told: set[str] = set()

    def known(self, key: str) -> Snapshot | None:
        return super().known(key) if key in self.told else Snapshot(key, None)

    async def newest(self, keys: Collection[str]) -> dict[str, Snapshot]:
        found = await super().newest(keys)
        return {
            key: snapshot if key in self.told else Snapshot(key, None)
            for key, snapshot in found.items()
        }

    async def confirm(self, seen: Mapping[str, int]) -> bool:
        self.told.update(seen)
        return await super().confirm(seen)


async def test_what_another_replica_has_just_made_is_found() -> None:
    memory = Behind()
    store(memory, a_binding(quotas=("quota",)))
    store(memory, a_quota(days=7))
    store(memory, a_profile(name="aws"))
    newest = NewestRecords(memory, memory)

    found = await newest.quotas_of("garden-dev", "CrossSecretBinding", "binding")

    assert [record.object()["spec"]["clusterLifetimeDays"] for record in found] == [7]
    assert await newest.profile("aws") is not None


async def test_a_profile_and_a_shoots_prices_are_the_newest() -> None:
    memory = Watched()
    store(memory, a_profile(name="aws"))
    store(memory, a_shoot(name="s", namespace="ns"), Header(prices={"small": {"cpu": "2"}}))
    newest = NewestRecords(memory, memory)

    profile = await newest.profile("aws")

    assert profile is not None
    assert profile.object()["kind"] == "CloudProfile"
    assert await newest.profile("none") is None
    assert await newest.stored_prices("ns", "s") == {"small": {"cpu": "2"}}
    assert await newest.stored_prices("ns", "none") is None


async def test_every_profile_is_found_in_the_cache_or_asked_for() -> None:
    memory = Behind()
    store(memory, a_profile(name="aws"))
    store(memory, a_profile(name="gcp"))
    newest = NewestRecords(memory, memory)

    for asked in (False, True):
        found = await newest.profiles(newest=asked)
        assert sorted(record.object()["metadata"]["name"] for record in found) == ["aws", "gcp"]


class Late(Watched):
    """Its cache comes no further."""

    def cached(self, prefix: str, *, not_older_than: int = 0) -> Sequence[Record] | None:
        return None if not_older_than else super().cached(prefix)


async def test_a_limit_range_that_this_server_wrote_is_waited_for() -> None:
    memory = Late()
    newest = NewestRecords(memory, memory)
    limits = an_object("ShootLimitRange", name="l", namespace="ns", spec={"limits": []})
    assert await newest.limit_ranges("ns") == []

    committed = store(memory, limits)
    newest.learn_ranges(committed)
    found = await newest.limit_ranges("ns")

    version = committed.records[key_of(limits)].resource_version
    assert [options.resource_version for options in memory.asked] == [version]
    assert len(found) == 1


async def test_limit_ranges_that_the_cache_has_are_not_waited_for() -> None:
    memory = Watched()
    limits = an_object("ShootLimitRange", name="l", namespace="ns", spec={"limits": []})
    other = an_object("ShootLimitRange", name="l", namespace="other", spec={"limits": []})
    newest = NewestRecords(memory, memory)
    for obj in (limits, other):
        newest.learn_ranges(store(memory, obj))

    found = await newest.limit_ranges("ns")

    assert [record.key for record in found] == [key_of(limits)]
    assert memory.asked == []


async def test_without_a_filled_cache_limit_ranges_are_read_for_certain() -> None:
    memory = Watched()
    memory.synced = False

    await NewestRecords(memory, memory).limit_ranges("ns")

    assert memory.asked[0].resource_version is None
