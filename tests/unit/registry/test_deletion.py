"""What a delete removes, and what it leaves lingering."""

import pytest

from apis.garden.v1beta1.register import QUOTA_USAGE
from apis.meta.codec import decode_json
from apis.meta.errors import StatusError
from apis.meta.request import Attributes, Operation
from apis.meta.transaction import Object
from quotaapi.registry.deletion import finalizers_after
from quotaapi.registry.options import DeleteOptions, Written
from tests.builders import a_quota
from tests.fakes.registry_rig import NAMESPACE, NOW_TEXT, USER, Rig, a_query


async def a_rig(*names: str, rig: Rig | None = None, **metadata: object) -> Rig:
    rig = rig or Rig()
    for name in names or ("a",):
        obj = a_quota(name=name, namespace=NAMESPACE)
        obj["metadata"] |= metadata
        await rig.create(obj)
    return rig


def shown(written: Written) -> Object:
    obj: Object = decode_json(written.json()).value
    return obj


async def test_a_delete_removes_the_object_and_shows_it_as_it_was() -> None:
    rig = await a_rig()
    stored = rig.stored("a")

    written = await rig.delete("a")

    assert written.removed
    assert shown(written) == stored
    assert rig.memory.records == {}


async def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig().delete("a")

    assert caught.value.reason == "NotFound"


async def test_what_the_cache_does_not_know_yet_is_deleted() -> None:
    rig = await a_rig()
    rig.memory.lag(rig.key("a"), None)

    assert (await rig.delete("a")).removed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"uid": "nope"},
            "the UID in the precondition (nope) does not match the UID in record (uid-1). "
            "The object might have been deleted and then recreated",
        ),
        (
            {"resource_version": "1"},
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in "
            "record (2000). The object might have been modified",
        ),
    ],
)
async def test_a_precondition_that_does_not_hold_conflicts(
    options: dict[str, str], message: str
) -> None:
    rig = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.delete("a", **options)

    assert caught.value.code == 409
    assert caught.value.message == (
        f'Operation cannot be fulfilled on Quota.garden.sapcloud.io "a": {message}'
    )


async def test_a_precondition_that_the_cache_does_not_know_yet_holds() -> None:
    rig = await a_rig()
    fresh = rig.elsewhere("a", lambda obj: obj["metadata"].update(labels={"x": "1"}))

    written = await rig.delete("a", resource_version=str(fresh.resource_version))

    assert written.removed


async def test_finalizers_make_the_object_linger() -> None:
    rig = await a_rig(finalizers=["example.com/hold"])

    written = await rig.delete("a")

    metadata = shown(written)["metadata"]
    assert not written.removed
    assert metadata["deletionTimestamp"] == NOW_TEXT
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["generation"] == 2
    assert rig.gate.admitted[-1].operation is Operation.UPDATE


async def test_a_second_delete_of_a_lingering_object_changes_nothing() -> None:
    rig = await a_rig(finalizers=["example.com/hold"])
    first = await rig.delete("a")

    second = await rig.delete("a")

    assert (second.json(), second.removed) == (first.json(), False)


async def test_a_second_delete_may_drop_the_policys_finalizer_and_so_remove() -> None:
    rig = await a_rig()
    await rig.delete("a", propagation="Foreground")

    assert (await rig.delete("a", propagation="Background")).removed


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
async def test_a_policy_is_left_to_the_garbage_collector(policy: str, finalizer: str) -> None:
    rig = await a_rig()

    written = await rig.delete("a", propagation=policy)

    assert shown(written)["metadata"]["finalizers"] == [finalizer]
    assert not written.removed


@pytest.mark.parametrize(
    ("before", "policy", "after"),
    [
        (["x/y"], "", ["x/y"]),
        (["orphan"], "", ["orphan"]),
        (["orphan", "x/y"], "Background", ["x/y"]),
        (["orphan", "x/y"], "Foreground", ["x/y", "foregroundDeletion"]),
        (["orphan", "x/y"], "Orphan", ["orphan", "x/y"]),
        (["foregroundDeletion", "orphan"], "Orphan", ["orphan"]),
        ([], "Orphan", ["orphan"]),
    ],
)
def test_a_policy_replaces_the_collectors_finalizers(
    before: list[str], policy: str, after: list[str]
) -> None:
    assert finalizers_after(before, policy) == after


async def test_a_dry_run_removes_nothing() -> None:
    rig = await a_rig()

    written = await rig.delete("a", dry_run=True)

    assert written.removed
    assert rig.stored("a") is not None


async def test_a_plugin_may_refuse_a_deletion() -> None:
    rig = await a_rig()

    def used(attributes: Attributes) -> None:
        assert (attributes.operation, attributes.obj) == (Operation.DELETE, None)
        raise StatusError(409, "Conflict", "in use")

    rig.validating.append(used)

    with pytest.raises(StatusError, match="in use"):
        await rig.delete("a")


async def test_an_object_that_moved_is_looked_at_again() -> None:
    rig = await a_rig()
    rig.gate.before_commit.append(
        lambda: rig.elsewhere(
            "a", lambda obj: obj["metadata"].update(finalizers=["example.com/hold"])
        )
    )

    written = await rig.delete("a")

    assert not written.removed
    assert shown(written)["metadata"]["finalizers"] == ["example.com/hold"]


async def test_an_object_that_moves_all_the_time_conflicts() -> None:
    rig = await a_rig()
    rig.gate.before_commit += [
        lambda: rig.elsewhere("a", lambda obj: obj["metadata"].update(labels={"x": "1"}))
    ] * 5

    with pytest.raises(StatusError, match="has been modified"):
        await rig.delete("a")


async def test_a_read_only_kind_is_not_deleted() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig(QUOTA_USAGE).delete("a")

    assert caught.value.code == 405


async def test_a_collection_is_deleted_as_selected() -> None:
    rig = await a_rig("a", "b", labels={"k": "1"})
    await a_rig("c", rig=rig, labels={"k": "2"})
    before = [rig.stored("a"), rig.stored("b")]

    page = await rig.store.delete_collection(USER, NAMESPACE, a_query("k=1"), DeleteOptions())

    assert [record.object() for record in page.records] == before
    assert list(rig.memory.records) == [rig.key("c")]


async def test_a_large_collection_is_deleted_page_by_page() -> None:
    rig = await a_rig(*(f"q{n:04d}" for n in range(501)))

    page = await rig.store.delete_collection(USER, NAMESPACE, a_query(), DeleteOptions())

    assert len(page.records) == 501
    assert (page.continue_token, rig.memory.records) == ("", {})


async def test_a_limit_bounds_what_a_request_deletes() -> None:
    rig = await a_rig("a", "b", "c")

    page = await rig.store.delete_collection(USER, NAMESPACE, a_query(limit=2), DeleteOptions())

    assert page.continue_token
    assert list(rig.memory.records) == [rig.key("c")]


async def test_what_is_gone_meanwhile_is_skipped() -> None:
    rig = await a_rig("a", "b")

    def gone(_attributes: Attributes) -> None:
        rig.memory.records.pop(rig.key("b"), None)

    rig.validating.append(gone)

    page = await rig.store.delete_collection(USER, NAMESPACE, a_query(), DeleteOptions())

    assert [record.key for record in page.records] == [rig.key("a")]


async def test_an_object_that_took_a_listed_ones_name_is_left_alone() -> None:
    rig = await a_rig("a", "b")

    def replaced(_attributes: Attributes) -> None:
        rig.validating.clear()
        rig.elsewhere("b", lambda obj: obj["metadata"].update(uid="another"))

    rig.validating.append(replaced)

    page = await rig.store.delete_collection(USER, NAMESPACE, a_query(), DeleteOptions())

    assert [record.key for record in page.records] == [rig.key("a")]
    assert list(rig.memory.records) == [rig.key("b")]


async def test_a_refusal_ends_the_deletion_of_a_collection() -> None:
    rig = await a_rig("a", "b")

    def used(attributes: Attributes) -> None:
        if attributes.name == "b":
            raise StatusError(409, "Conflict", "in use")

    rig.validating.append(used)

    with pytest.raises(StatusError, match="in use"):
        await rig.store.delete_collection(USER, NAMESPACE, a_query(), DeleteOptions())

    assert list(rig.memory.records) == [rig.key("b")]
