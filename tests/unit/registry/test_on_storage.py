"""The registry on the real claims, watch cache and gate; only etcd is in memory."""

import asyncio
from collections.abc import Mapping

import pytest

from apis.meta.codec import Decoded
from apis.meta.errors import StatusError
from apis.meta.transaction import Object
from quotaapi.registry.options import DeleteOptions, WriteOptions
from quotaapi.registry.rest import ListQuery, Rest
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.fakes.registry_rig import USER, a_query, merging
from tests.fakes.stored_registry import a_registry

WRITE = WriteOptions()


async def create(served: Mapping[str, Rest], plural: str, obj: Object) -> None:
    namespace = obj["metadata"].get("namespace", "")
    await served[plural].create(USER, namespace, Decoded(obj), WRITE)


async def prepare(served: Mapping[str, Rest], shoots: str) -> None:
    """A secret quota for so many shoots, a binding that names it, a profile."""
    await create(served, "cloudprofiles", a_profile())
    await create(served, "quotas", a_quota(metrics={"shoots": shoots}))
    await create(served, "crosssecretbindings", a_binding(quotas=["quota"]))


async def used(served: Mapping[str, Rest]) -> str | None:
    record = await served["quotas"].get("garden-trial", "quota")
    shoots: str | None = record.object()["status"].get("used", {}).get("shoots")
    return shoots


async def names(rest: Rest, query: ListQuery) -> list[str]:
    page = await rest.list("garden-dev", query)
    return [record.object()["metadata"]["name"] for record in page.records]


async def test_what_is_created_is_listed_and_charged() -> None:
    async with a_registry() as (served, _):
        await prepare(served, "5")

        await create(served, "shoots", a_shoot(name="a"))

        assert await names(served["shoots"], a_query()) == ["a"]
        assert await names(served["shoots"], a_query(fields="metadata.name=a")) == ["a"]
        assert await used(served) == "1"


async def test_side_by_side_creates_of_one_name_leave_one() -> None:
    async with a_registry() as (served, _):
        await prepare(served, "5")

        outcomes = await asyncio.gather(
            *(create(served, "shoots", a_shoot(name="a")) for _ in range(10)),
            return_exceptions=True,
        )

        refusals = [error for error in outcomes if error is not None]
        assert [e.reason for e in refusals if isinstance(e, StatusError)] == ["AlreadyExists"] * 9
        assert await used(served) == "1"


async def test_side_by_side_creates_stop_at_the_limit() -> None:
    async with a_registry() as (served, _):
        await prepare(served, "5")

        outcomes = await asyncio.gather(
            *(create(served, "shoots", a_shoot(name=f"s{n}")) for n in range(20)),
            return_exceptions=True,
        )

        assert sum(outcome is None for outcome in outcomes) == 5
        assert await used(served) == "5"


async def test_a_collection_of_shoots_gives_its_charges_back() -> None:
    async with a_registry() as (served, backend):
        await prepare(served, "20")
        await asyncio.gather(*(create(served, "shoots", a_shoot(name=f"s{n}")) for n in range(20)))
        before = backend.commits

        page = await served["shoots"].delete_collection(
            USER, "garden-dev", a_query(), DeleteOptions()
        )

        assert len(page.records) == 20
        assert await names(served["shoots"], a_query()) == []
        assert await used(served) in (None, "0")
        assert backend.commits - before < 20


async def test_the_last_finalizer_gives_the_charge_back() -> None:
    async with a_registry() as (served, _):
        await prepare(served, "5")
        shoot = a_shoot(name="a")
        shoot["metadata"]["finalizers"] = ["example.com/hold"]
        await create(served, "shoots", shoot)
        await served["shoots"].delete(USER, "garden-dev", "a", DeleteOptions())
        assert await used(served) == "1"

        await served["shoots"].patch(
            USER, "garden-dev", "a", merging({"metadata": {"finalizers": None}}), WRITE
        )

        assert await used(served) in (None, "0")


async def test_a_dry_run_is_judged_and_not_charged() -> None:
    async with a_registry() as (served, _):
        await prepare(served, "0")

        with pytest.raises(StatusError, match="exceeded quota"):
            await served["shoots"].create(
                USER, "garden-dev", Decoded(a_shoot(name="a")), WriteOptions(dry_run=True)
            )


async def test_an_absent_etcd_is_unavailable() -> None:
    async with a_registry() as (served, backend):
        await prepare(served, "5")
        await backend.go_down()

        with pytest.raises(StatusError) as caught:
            await create(served, "shoots", a_shoot(name="a"))

        assert (caught.value.code, caught.value.retry_after_seconds) == (503, 1)
        backend.come_up()
