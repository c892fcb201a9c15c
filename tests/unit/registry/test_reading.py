"""Get, list and watch, with selectors."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import CLOUD_PROFILE, QUOTA
from apis.meta.errors import StatusError
from quotaapi.registry.selection import extract, predicate, single_key
from storage.interface import Facts, SlowWatcher
from tests.builders import a_quota
from tests.fakes.registry_rig import NAMESPACE, Rig, a_query


async def a_rig() -> Rig:
    rig = Rig()
    for name, env in (("a", "dev"), ("b", "prod"), ("c", "")):
        obj = a_quota(name=name, namespace=NAMESPACE)
        if env:
            obj["metadata"]["labels"] = {"env": env}
        await rig.create(obj)
    return rig


async def names(rig: Rig, labels: str = "", fields: str = "", **more: Any) -> list[str]:
    page = await rig.store.list(NAMESPACE, a_query(labels, fields, **more))
    return [record.object()["metadata"]["name"] for record in page.records]


async def test_an_absent_object_is_not_found() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig().store.get(NAMESPACE, "missing")

    assert caught.value.message == 'quotas.garden.sapcloud.io "missing" not found'


async def test_a_list_holds_what_its_selectors_match() -> None:
    rig = await a_rig()

    assert await names(rig) == ["a", "b", "c"]
    assert await names(rig, labels="env=dev") == ["a"]
    assert await names(rig, labels="!env") == ["c"]
    assert await names(rig, fields="metadata.name!=a") == ["b", "c"]
    assert await names(rig, fields="spec.scope=secret") == ["a", "b", "c"]
    assert await names(rig, labels="env", fields="metadata.name!=a") == ["b"]


@pytest.mark.parametrize(
    ("labels", "fields", "found"),
    [
        ("", "metadata.name=a", ["a"]),
        ("env=prod", "metadata.name=a", []),
        ("", "metadata.name=a,metadata.namespace=zzz", []),
        ("", "metadata.name=nope", []),
    ],
)
async def test_a_list_of_one_name_is_the_same_as_a_walk(
    labels: str, fields: str, found: list[str]
) -> None:
    rig = await a_rig()

    assert await names(rig, labels, fields) == found
    assert await names(rig, labels, fields, limit=10) == found


def test_a_list_of_one_name_reads_one_key() -> None:
    query = a_query(fields="metadata.name=a")

    assert single_key(QUOTA, "ns", query) == "garden.sapcloud.io/quotas/ns/a"
    assert single_key(QUOTA, "", query) is None
    assert single_key(CLOUD_PROFILE, "", query) == "garden.sapcloud.io/cloudprofiles/a"


def test_a_name_and_a_namespace_selected_are_one_key() -> None:
    query = a_query(fields="metadata.name=a,metadata.namespace=ns")

    assert single_key(QUOTA, "", query) == "garden.sapcloud.io/quotas/ns/a"


@pytest.mark.parametrize(
    "more", [{"limit": 1}, {"continue_token": "x"}, {"resource_version": 0}, {"match": "Exact"}]
)
def test_a_page_or_a_version_is_left_to_the_list(more: dict[str, Any]) -> None:
    assert single_key(QUOTA, "ns", a_query(fields="metadata.name=a", **more)) is None


@pytest.mark.parametrize("name", ["", "a/b"])
def test_what_is_no_name_is_left_to_the_list(name: str) -> None:
    assert single_key(QUOTA, "ns", a_query(fields=f"metadata.name={name}")) is None


def test_no_selector_is_no_predicate() -> None:
    assert predicate(a_query()) is None


def test_facts_always_tell_name_and_namespace() -> None:
    obj = a_quota(name="a", namespace="ns", scope="project")

    assert extract(QUOTA)("key", obj) == Facts(
        labels={},
        fields={"metadata.name": "a", "metadata.namespace": "ns", "spec.scope": "project"},
        indexes={},
    )


async def test_the_version_of_a_list_of_one_is_where_its_watch_begins() -> None:
    rig = await a_rig()
    query = a_query(fields="metadata.name=a")

    page = await rig.store.list(NAMESPACE, query)

    assert page.resource_version == await rig.store.current_version()
    async with rig.store.watch(NAMESPACE, query, page.resource_version) as events:
        assert await events.next(0) == ()
        await rig.delete("a")
        (event,) = await events.next(1)
    assert event.facts is None


async def test_a_watch_sees_what_its_selector_matched_before() -> None:
    rig = await a_rig()
    since = await rig.store.current_version()

    async with rig.store.watch(NAMESPACE, a_query("env=dev"), since) as events:
        await rig.delete("b")
        await rig.delete("a")
        (event,) = await events.next(1)

    assert event.record.key == rig.key("a")


async def test_a_slow_watcher_is_told_to_come_back() -> None:
    rig = await a_rig()

    async with rig.store.watch(NAMESPACE, a_query(), 0) as events:
        rig.memory.failures.append(SlowWatcher())
        with pytest.raises(StatusError) as caught:
            await events.next(0)

    assert (caught.value.code, caught.value.retry_after_seconds) == (429, 1)


async def test_a_watch_from_the_future_is_a_timeout() -> None:
    rig = await a_rig()

    with pytest.raises(StatusError) as caught:
        async with rig.store.watch(NAMESPACE, a_query(), 10**9):
            pass

    assert caught.value.code == 504


async def test_a_token_of_somebody_else_is_a_bad_request() -> None:
    rig = await a_rig()

    with pytest.raises(StatusError) as caught:
        await names(rig, continue_token="garbage")

    assert (caught.value.code, caught.value.message) == (
        400,
        "invalid continue token: continue key is not valid",
    )


async def test_an_object_is_read_as_it_is_stored() -> None:
    rig = await a_rig()

    record = await rig.store.get(NAMESPACE, "a")

    assert record is rig.memory.records[rig.key("a")]
    assert rig.store.matches(a_query()) is None
