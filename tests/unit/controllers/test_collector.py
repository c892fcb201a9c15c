"""The stand-alone garbage collector, on a registry whose etcd is in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from apis.garden.v1beta1.register import QUOTA
from apis.meta.codec import Decoded, decode_json
from apis.meta.errors import StatusError, service_unavailable
from apis.meta.transaction import Object
from quotaapi.controllers.collector import Collector
from quotaapi.registry.options import DeleteOptions, WriteOptions, Written
from quotaapi.registry.rest import ListQuery, Rest
from storage.interface import Page
from tests.builders import API_VERSION, a_binding, a_profile, a_quota
from tests.fakes.leading import directly
from tests.fakes.registry_rig import USER, a_query
from tests.fakes.stored_registry import a_registry

NAMESPACE = "garden-trial"


class Garden:
    """Quotas that own each other."""

    def __init__(self, served: Mapping[str, Rest]) -> None:
        self.served = served
        self.quotas = served["quotas"]

    async def quota(self, name: str, *owners: Object, blocks: bool = False) -> Object:
        """A quota whose `owners` exist, or did."""
        obj = a_quota(name=name)
        references = [reference(owner, blocks=blocks) for owner in owners]
        if references:
            obj["metadata"]["ownerReferences"] = references
        written = await self.quotas.create(USER, NAMESPACE, Decoded(obj), WriteOptions())
        created: Object = decode_json(written.json()).value
        return created

    async def get(self, name: str) -> Object:
        return (await self.quotas.get(NAMESPACE, name)).object()

    async def owners(self, name: str) -> list[str]:
        return [
            each["name"] for each in (await self.get(name))["metadata"].get("ownerReferences", ())
        ]

    async def delete(self, name: str, propagation: str) -> Written:
        options = DeleteOptions(propagation=propagation)
        return await self.quotas.delete(USER, NAMESPACE, name, options)

    async def names(self) -> list[str]:
        page = await self.quotas.list(NAMESPACE, a_query())
        return [record.object()["metadata"]["name"] for record in page.records]

    async def until_left(self, *names: str) -> None:
        await until(self.names, sorted(names))


async def until(look: Callable[[], Coroutine[Any, Any, Any]], wanted: object) -> None:
    async with asyncio.timeout(10):
        while await look() != wanted:  # noqa: ASYNC110 -- etcd in memory has no event for it
            await asyncio.sleep(0.001)


def reference(owner: Object, *, blocks: bool = False) -> Object:
    metadata = owner["metadata"]
    return {
        "apiVersion": API_VERSION,
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": blocks,
    }


@asynccontextmanager
async def collected() -> AsyncIterator[Garden]:
    """A garden whose garbage is collected from the first event on."""
    async with a_registry() as (served, _), collecting(served):
        yield Garden(served)


@asynccontextmanager
async def collecting(served: Mapping[str, Rest]) -> AsyncIterator[None]:
    running = asyncio.ensure_future(Collector(served, directly, retry_seconds=0.05).run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_an_object_goes_with_its_only_owner() -> None:
    async with collected() as garden:
        owner = await garden.quota("owner")
        await garden.quota("dependent", owner)
        await garden.quota("other")

        await garden.delete("owner", "Background")

        await garden.until_left("other")


async def test_a_chain_of_owners_goes_as_a_whole() -> None:
    async with collected() as garden:
        first = await garden.quota("first")
        second = await garden.quota("second", first)
        await garden.quota("third", second)

        await garden.delete("first", "")

        await garden.until_left()


async def test_an_object_with_another_owner_stays_and_forgets_the_one_that_is_gone() -> None:
    async with collected() as garden:
        one, other = await garden.quota("one"), await garden.quota("other")
        await garden.quota("dependent", one, other)

        await garden.delete("one", "Background")

        async def owners() -> list[str]:
            return await garden.owners("dependent")

        await until(owners, ["other"])


async def test_an_object_that_names_an_owner_that_never_was_goes() -> None:
    async with collected() as garden:
        never = {"kind": "Quota", "metadata": {"name": "never", "uid": "u"}}

        await garden.quota("dependent", never)

        await garden.until_left()


async def test_a_namesake_of_the_owner_does_not_keep_its_dependents() -> None:
    async with collected() as garden:
        await garden.quota("owner")
        old = {"kind": "Quota", "metadata": {"name": "owner", "uid": "another"}}

        await garden.quota("dependent", old)

        await garden.until_left("owner")


async def test_an_owner_of_a_kind_that_is_not_known_here_is_taken_to_exist() -> None:
    async with collected() as garden:
        obj = a_quota(name="dependent")
        pod = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
        obj["metadata"]["ownerReferences"] = [pod]
        await garden.quotas.create(USER, NAMESPACE, Decoded(obj), WriteOptions())
        owner = await garden.quota("owner")
        await garden.quota("marker", owner)
        await garden.delete("owner", "Background")

        await garden.until_left("dependent")


async def test_what_was_deleted_in_the_foreground_goes_after_its_dependents() -> None:
    async with collected() as garden:
        owner = await garden.quota("owner")
        await garden.quota("dependent", owner, blocks=True)

        lingering = await garden.delete("owner", "Foreground")

        assert not lingering.removed
        await garden.until_left()


async def test_what_was_deleted_in_the_foreground_without_dependents_goes() -> None:
    async with collected() as garden:
        await garden.quota("owner")

        await garden.delete("owner", "Foreground")

        await garden.until_left()


async def test_a_foreground_delete_waits_for_a_dependents_finalizers() -> None:
    async with collected() as garden:
        owner = await garden.quota("owner")
        obj = a_quota(name="dependent")
        obj["metadata"] |= {
            "ownerReferences": [reference(owner, blocks=True)],
            "finalizers": ["example.com/hold"],
        }
        await garden.quotas.create(USER, NAMESPACE, Decoded(obj), WriteOptions())
        await garden.delete("owner", "Foreground")

        async def ends() -> bool:
            return "deletionTimestamp" in (await garden.get("dependent"))["metadata"]

        await until(ends, True)
        assert await garden.names() == ["dependent", "owner"]
        await garden.quotas.patch(USER, NAMESPACE, "dependent", without_finalizers, WriteOptions())
        await garden.until_left()


def without_finalizers(obj: Object) -> Object:
    obj["metadata"]["finalizers"] = []
    return obj


async def test_a_circle_that_is_deleted_in_the_foreground_goes() -> None:
    async with collected() as garden:
        one = await garden.quota("one")
        other = await garden.quota("other", one, blocks=True)

        def owned(obj: Object) -> Object:
            obj["metadata"]["ownerReferences"] = [reference(other, blocks=True)]
            return obj

        await garden.quotas.patch(USER, NAMESPACE, "one", owned, WriteOptions())

        await garden.delete("one", "Foreground")

        await garden.until_left()


async def test_orphans_stay_and_have_no_owner() -> None:
    async with collected() as garden:
        owner = await garden.quota("owner")
        await garden.quota("dependent", owner)

        await garden.delete("owner", "Orphan")

        await garden.until_left("dependent")
        assert await garden.owners("dependent") == []


async def test_what_became_garbage_before_it_began_is_collected() -> None:
    async with a_registry() as (served, _):
        garden = Garden(served)
        owner = await garden.quota("owner")
        await garden.quota("dependent", owner)
        await garden.delete("owner", "Background")
        await garden.quota("lingering")
        await garden.delete("lingering", "Orphan")

        async with collecting(served):
            await garden.until_left()


async def test_a_delete_that_is_refused_is_tried_again() -> None:
    async with collected() as garden:
        owner = await garden.quota("owner")
        await garden.served["cloudprofiles"].create(USER, "", Decoded(a_profile()), WriteOptions())
        await garden.quota("used", owner)
        binding = a_binding(quotas=["used"], namespace=NAMESPACE)
        await garden.served["crosssecretbindings"].create(
            USER, NAMESPACE, Decoded(binding), WriteOptions()
        )
        await garden.delete("owner", "Background")
        await garden.until_left("used")

        await garden.served["crosssecretbindings"].delete(
            USER, NAMESPACE, "binding", DeleteOptions()
        )

        await garden.until_left()


async def test_a_cluster_wide_object_may_own_one_in_a_namespace() -> None:
    async with collected() as garden:
        profiles = garden.served["cloudprofiles"]
        await profiles.create(USER, "", Decoded(a_profile()), WriteOptions())
        profile = (await profiles.get("", "aws")).object()
        await garden.quota("dependent", profile)
        assert await garden.owners("dependent") == ["aws"]

        await profiles.delete(USER, "", "aws", DeleteOptions())

        await garden.until_left()


async def test_a_watch_that_breaks_is_opened_again() -> None:
    async with a_registry() as (served, _):
        garden = Garden(served)
        broken = Breaking(served["quotas"])
        async with collecting({**served, "quotas": broken}):
            async with asyncio.timeout(10):
                await broken.broke.wait()
            owner = await garden.quota("owner")
            await garden.quota("dependent", owner)
            await garden.delete("owner", "Background")

            await garden.until_left()


class Breaking:
    """Quotas whose first watch cannot be opened."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self.broke = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rest, name)

    def watch(self, namespace: str, query: Any, since: int) -> Any:
        if not self.broke.is_set():
            self.broke.set()
            raise StatusError(410, "Expired", "gone")
        return self._rest.watch(namespace, query, since)


class Failing:
    """A collection whose watch fails at the moment at which its reader is ended."""

    resource = QUOTA

    def __init__(self) -> None:
        self.waited = asyncio.Event()

    async def list(self, _namespace: str, _query: ListQuery) -> Page:
        return Page((), 1)

    @asynccontextmanager
    async def watch(
        self, _namespace: str, _query: ListQuery, _since: int
    ) -> AsyncIterator["Failing"]:
        yield self

    async def next(self, _timeout_seconds: float) -> tuple[()]:
        self.waited.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise service_unavailable("the watch broke", 1) from None
        return ()


async def test_it_ends_when_it_is_told_to_while_its_watches_break() -> None:
    failing = Failing()
    collector = Collector({"quotas": failing}, directly)  # type: ignore[dict-item]  # what it uses
    running = asyncio.ensure_future(collector.run())
    await failing.waited.wait()

    running.cancel()
    await asyncio.wait([running], timeout=5)

    assert running.cancelled()
