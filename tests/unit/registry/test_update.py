"""What PUT and PATCH keep, refuse and count."""

import pytest

from apis.garden.v1beta1.register import CLOUD_PROFILE, QUOTA_USAGE
from apis.meta.codec import decode_json
from apis.meta.errors import StatusError
from apis.meta.request import Attributes, Operation
from apis.meta.transaction import Object
from quotaapi.registry.options import Written
from tests.builders import a_profile, a_quota
from tests.fakes.registry_rig import NAMESPACE, Rig, merging

MODIFIED = (
    'Operation cannot be fulfilled on quotas.garden.sapcloud.io "a": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
READY = {
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "R",
            "message": "m",
            "lastTransitionTime": "2020-01-01T00:00:00Z",
        }
    ]
}


def quota(name: str = "a", cpu: str = "10", **metadata: object) -> Object:
    obj = a_quota(name=name, namespace=NAMESPACE, metrics={"cpu": cpu})
    obj["metadata"] |= metadata
    return obj


async def a_rig(**metadata: object) -> tuple[Rig, Object]:
    """A registry with one quota `a`, and that quota."""
    rig = Rig()
    written = await rig.create(quota(**metadata))  # type: ignore[arg-type]
    return rig, shown(written)


def shown(written: Written) -> Object:
    obj: Object = decode_json(written.json()).value
    return obj


def causes(error: StatusError) -> list[tuple[str, str]]:
    return [(c["field"], c["message"]) for c in error.status()["details"]["causes"]]


async def test_an_update_replaces_the_object_and_raises_its_generation() -> None:
    rig, obj = await a_rig(labels={"x": "y"})
    obj["spec"]["metrics"]["cpu"] = "11"
    del obj["metadata"]["labels"]

    new = shown(await rig.update(obj))

    assert new["spec"]["metrics"] == {"cpu": "11"}
    assert "labels" not in new["metadata"]
    assert new["metadata"]["generation"] == 2
    assert int(new["metadata"]["resourceVersion"]) > int(obj["metadata"]["resourceVersion"])


async def test_a_label_leaves_the_generation_alone() -> None:
    rig, _ = await a_rig()

    new = shown(await rig.patch("a", merging({"metadata": {"labels": {"x": "y"}}})))

    assert (new["metadata"]["labels"], new["metadata"]["generation"]) == ({"x": "y"}, 1)


async def test_a_client_cannot_set_the_generation() -> None:
    rig, obj = await a_rig()
    obj["metadata"] |= {"generation": 9, "labels": {"x": "y"}}

    assert shown(await rig.update(obj))["metadata"]["generation"] == 1


async def test_what_a_put_leaves_out_of_system_metadata_stays() -> None:
    rig, obj = await a_rig()
    version = obj["metadata"]["resourceVersion"]

    new = shown(await rig.update(quota(cpu="11", resourceVersion=version)))

    assert new["metadata"]["uid"] == obj["metadata"]["uid"]
    assert new["metadata"]["creationTimestamp"] == obj["metadata"]["creationTimestamp"]


async def test_a_creation_time_that_a_client_changes_stays() -> None:
    rig, obj = await a_rig()
    obj["metadata"] |= {"creationTimestamp": "2001-01-01T00:00:00Z", "labels": {"x": "y"}}

    new = shown(await rig.update(obj))

    assert new["metadata"]["creationTimestamp"] != "2001-01-01T00:00:00Z"


async def test_an_outdated_version_conflicts() -> None:
    rig, obj = await a_rig()
    await rig.patch("a", merging({"spec": {"metrics": {"cpu": "11"}}}))

    with pytest.raises(StatusError) as caught:
        await rig.update(obj)

    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert caught.value.message == MODIFIED


async def test_a_version_newer_than_the_cache_is_looked_at_again() -> None:
    rig, _ = await a_rig()
    fresh = rig.elsewhere("a", lambda obj: obj["metadata"].update(labels={"x": "1"})).object()
    fresh["spec"]["metrics"]["cpu"] = "11"

    new = shown(await rig.update(fresh))

    assert (new["spec"]["metrics"]["cpu"], new["metadata"]["labels"]) == ("11", {"x": "1"})


async def test_a_version_from_the_future_conflicts() -> None:
    rig, obj = await a_rig()
    obj["metadata"]["resourceVersion"] = "999999999"

    with pytest.raises(StatusError, match="has been modified"):
        await rig.update(obj)


@pytest.mark.parametrize("version", [None, "", "0"])
async def test_a_put_without_a_version_is_invalid(version: str | None) -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.update(quota() if version is None else quota(resourceVersion=version))

    assert (caught.value.code, caught.value.message) == (
        422,
        'quotas.garden.sapcloud.io "a" is invalid: metadata.resourceVersion: '
        "Invalid value: 0: must be specified for an update",
    )


@pytest.mark.parametrize("version", ["abc", "-1", "1.5", "²", "18446744073709551616", "9" * 5000])
async def test_a_version_that_is_no_number_is_refused_at_its_field(version: str) -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.update(quota(resourceVersion=version))

    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    (cause,) = (caught.value.details or {})["causes"]
    assert cause["field"] == "metadata.resourceVersion"
    assert "strconv.ParseUint" in cause["message"]


async def test_a_put_does_not_create() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig().update(quota("missing", resourceVersion="1"))

    assert (caught.value.code, caught.value.reason) == (404, "NotFound")


async def test_an_object_that_the_cache_does_not_know_yet_is_found() -> None:
    rig, obj = await a_rig()
    rig.memory.lag(rig.key("a"), None)

    new = shown(await rig.patch("a", merging({"metadata": {"labels": {"x": "y"}}})))

    assert new["metadata"]["uid"] == obj["metadata"]["uid"]


async def test_another_name_than_the_paths_is_a_bad_request() -> None:
    rig, obj = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.update({**obj, "metadata": {**obj["metadata"], "name": "b"}}, name="a")

    assert (caught.value.code, caught.value.message) == (
        400,
        "the name of the object (b) does not match the name on the URL (a)",
    )


async def test_a_patch_cannot_rename() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError, match=r"\(other\) does not match the name on the URL \(a\)"):
        await rig.patch("a", merging({"metadata": {"name": "other"}}))


async def test_an_object_without_a_name_is_a_bad_request() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError, match="undeterminable: name must be provided") as caught:
        await rig.patch("a", merging({"metadata": {"name": None}}))

    assert caught.value.code == 400


async def test_another_namespace_than_the_paths_is_a_bad_request() -> None:
    rig, obj = await a_rig()
    obj["metadata"]["namespace"] = "elsewhere"

    with pytest.raises(StatusError, match="does not match the namespace on the request"):
        await rig.update(obj)


async def test_a_put_of_another_uid_conflicts() -> None:
    rig, obj = await a_rig()
    obj["metadata"]["uid"] = "other"

    with pytest.raises(StatusError) as caught:
        await rig.update(obj)

    assert caught.value.reason == "Conflict"
    assert "UID in precondition: other, UID in object meta: uid-1" in caught.value.message


async def test_a_patch_of_the_uid_is_invalid() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"metadata": {"uid": "other"}}))

    assert causes(caught.value) == [("metadata.uid", 'Invalid value: "other": field is immutable')]


async def test_a_client_cannot_mark_an_object_as_being_deleted() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}))

    assert [field for field, _ in causes(caught.value)] == ["metadata.deletionTimestamp"]


async def test_another_kind_is_invalid() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"kind": "Shoot"}))

    assert caught.value.message == (
        'Shoot.garden.sapcloud.io "a" is invalid: kind: Invalid value: "Shoot": must be Quota'
    )


@pytest.mark.parametrize(
    "patched", [[], None, "x", {"kind": 5}, {"kind": ""}, {"kind": "Quota", "metadata": 5}]
)
async def test_a_patch_that_leaves_no_object_is_invalid(patched: object) -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", lambda _obj: patched)  # type: ignore[arg-type,return-value]

    assert caught.value.code == 422
    assert causes(caught.value)[0][0] == "patch"


async def test_an_immutable_field_stays() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"spec": {"scope": "project"}}))

    assert [field for field, _ in causes(caught.value)] == ["spec.scope"]


async def test_an_invalid_update_is_refused() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"spec": {"clusterLifetimeDays": 0}}))

    assert [field for field, _ in causes(caught.value)] == ["spec.clusterLifetimeDays"]


async def test_an_unknown_field_of_a_patch_is_a_warning() -> None:
    rig, obj = await a_rig()

    written = await rig.patch("a", merging({"spec": {"nope": 1}}))

    assert written.warnings == ('unknown field "spec.nope"',)
    assert shown(written) == obj


async def test_an_unknown_field_of_a_strict_patch_is_invalid() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"spec": {"nope": 1}}), field_validation="Strict")

    assert caught.value.code == 422
    assert caught.value.message.startswith(' "" is invalid: patch: Invalid value: ')
    assert caught.value.message.endswith('strict decoding error: unknown field "spec.nope"')


async def test_an_update_that_changes_nothing_writes_nothing() -> None:
    rig, obj = await a_rig()

    written = await rig.update(obj)

    assert shown(written) == obj
    assert len(rig.memory.transactions) == 1


async def test_an_update_of_the_order_of_fields_alone_writes_nothing() -> None:
    rig, obj = await a_rig()
    reordered = {key: obj[key] for key in reversed(obj)}
    reordered["metadata"] = {key: obj["metadata"][key] for key in reversed(obj["metadata"])}

    await rig.update(reordered)

    assert len(rig.memory.transactions) == 1


async def test_a_patch_is_no_no_op_because_the_cache_lags() -> None:
    """The label is what the cache still shows; another replica has changed it meanwhile."""
    rig, _ = await a_rig(labels={"x": "1"})
    rig.elsewhere("a", lambda obj: obj["metadata"].update(labels={"x": "2"}))

    new = shown(await rig.patch("a", merging({"metadata": {"labels": {"x": "1"}}})))

    assert new["metadata"]["labels"] == {"x": "1"}
    assert (rig.stored("a") or {})["metadata"]["labels"] == {"x": "1"}


async def test_a_refusal_does_not_rest_on_an_outdated_object() -> None:
    rig, _ = await a_rig(labels={"locked": "yes"})
    rig.elsewhere("a", lambda obj: obj["metadata"].pop("labels"))

    def locked(attributes: Attributes) -> None:
        if attributes.old and "labels" in attributes.old["metadata"]:
            raise StatusError(403, "Forbidden", "locked")

    rig.validating.append(locked)

    new = shown(await rig.patch("a", merging({"spec": {"metrics": {"cpu": "11"}}})))

    assert new["spec"]["metrics"]["cpu"] == "11"


async def test_a_patch_runs_again_on_the_object_that_moved() -> None:
    rig, _ = await a_rig()
    rig.gate.before_commit.append(
        lambda: rig.elsewhere("a", lambda obj: obj["metadata"].update(labels={"x": "1"}))
    )

    new = shown(await rig.patch("a", merging({"spec": {"metrics": {"cpu": "11"}}})))

    assert (new["spec"]["metrics"]["cpu"], new["metadata"]["labels"]) == ("11", {"x": "1"})


async def test_a_patch_gives_up_when_its_object_moves_all_the_time() -> None:
    rig, _ = await a_rig()
    rig.gate.before_commit += [
        lambda: rig.elsewhere("a", lambda obj: obj["metadata"].update(labels={"x": "1"}))
    ] * 5

    with pytest.raises(StatusError, match="has been modified"):
        await rig.patch("a", merging({"spec": {"metrics": {"cpu": "11"}}}))


async def test_a_put_whose_object_moves_conflicts() -> None:
    rig, obj = await a_rig()
    obj["spec"]["metrics"]["cpu"] = "11"
    rig.gate.before_commit.append(
        lambda: rig.elsewhere("a", lambda obj: obj["metadata"].update(labels={"x": "1"}))
    )

    with pytest.raises(StatusError) as caught:
        await rig.update(obj)

    assert caught.value.message == MODIFIED


async def test_a_main_write_keeps_the_status() -> None:
    rig, _ = await a_rig()
    await rig.patch("a", merging({"status": READY}), subresource="status")

    new = shown(
        await rig.patch(
            "a", merging({"status": {"conditions": []}, "spec": {"metrics": {"cpu": "11"}}})
        )
    )

    assert new["status"] == READY


async def test_a_status_write_changes_nothing_but_the_status() -> None:
    rig, obj = await a_rig()
    change = {
        "metadata": {"labels": {"x": "y"}},
        "spec": {"metrics": {"cpu": "99"}},
        "status": READY,
    }

    new = shown(await rig.patch("a", merging(change), subresource="status"))

    for key in ("resourceVersion", "managedFields"):
        assert new["metadata"].pop(key) != obj["metadata"].pop(key)
    assert new == {**obj, "status": READY}


async def test_the_servers_own_status_survives_every_write_of_it() -> None:
    rig, _ = await a_rig()
    rig.elsewhere("a", lambda obj: obj.update(status={"used": {"cpu": "3"}, **READY}))
    change = {"status": {"used": {"cpu": "0"}, "hard": {"cpu": "1"}, "conditions": None}}

    new = shown(await rig.patch("a", merging(change), subresource="status"))

    assert new["status"] == {"used": {"cpu": "3"}}


async def test_a_status_that_is_removed_leaves_the_servers_part() -> None:
    rig, _ = await a_rig()
    rig.elsewhere("a", lambda obj: obj.update(status={"used": {"cpu": "3"}, **READY}))

    new = shown(await rig.patch("a", merging({"status": None}), subresource="status"))

    assert new["status"] == {"used": {"cpu": "3"}}


async def test_a_status_of_a_wrong_type_is_invalid() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"status": "fine"}), subresource="status")

    assert causes(caught.value)[0][0] == "status"


async def test_the_last_finalizer_of_a_terminating_object_takes_it_along() -> None:
    rig, _ = await a_rig(finalizers=["example.com/hold"])
    marked = await rig.delete("a")

    written = await rig.patch("a", merging({"metadata": {"finalizers": []}}))

    last = shown(written)
    assert written.removed
    assert "finalizers" not in last["metadata"]
    assert last["metadata"]["resourceVersion"] == str(marked.resource_version)
    assert rig.memory.records == {}
    assert rig.gate.admitted[-1].operation is Operation.DELETE


async def test_a_terminating_object_may_be_updated() -> None:
    rig, _ = await a_rig(finalizers=["example.com/hold"])
    await rig.delete("a")

    new = shown(await rig.patch("a", merging({"spec": {"metrics": {"cpu": "77"}}})))

    assert (new["metadata"]["generation"], new["spec"]["metrics"]["cpu"]) == (3, "77")


async def test_a_terminating_object_stays_terminating() -> None:
    rig, _ = await a_rig(finalizers=["example.com/hold"])
    marked = shown(await rig.delete("a"))

    new = shown(await rig.patch("a", merging({"metadata": {"deletionTimestamp": None}})))

    assert new == marked


async def test_a_terminating_object_takes_no_new_finalizer() -> None:
    rig, _ = await a_rig(finalizers=["example.com/hold"])
    await rig.delete("a")

    with pytest.raises(StatusError) as caught:
        await rig.patch(
            "a", merging({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}})
        )

    assert caught.value.message == (
        'Quota.garden.sapcloud.io "a" is invalid: metadata.finalizers: Forbidden: no new finalizers '
        "can be added if the object is being deleted, found new finalizers "
        '[]string{"example.com/more"}'
    )


async def test_only_new_finalizers_are_warned_about() -> None:
    rig, _ = await a_rig(finalizers=["old"])

    written = await rig.patch("a", merging({"metadata": {"finalizers": ["old", "new"]}}))

    assert [text.split(":")[1] for text in written.warnings] == [' "new"']


async def test_a_dry_run_shows_the_change_with_the_version_that_is_stored() -> None:
    rig, obj = await a_rig()

    new = shown(await rig.patch("a", merging({"spec": {"metrics": {"cpu": "1"}}}), dry_run=True))

    assert new["metadata"]["generation"] == 2
    assert new["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]
    assert rig.stored("a") == obj


async def test_the_chain_sees_both_objects() -> None:
    rig, obj = await a_rig()
    seen: list[Attributes] = []
    rig.validating.append(seen.append)

    await rig.patch("a", merging({"spec": {"metrics": {"cpu": "11"}}}))

    (attributes,) = seen
    assert attributes.operation is Operation.UPDATE
    assert attributes.old == obj
    assert attributes.obj is not None
    assert attributes.obj["spec"]["metrics"] == {"cpu": "11"}


async def test_a_read_only_kind_takes_no_update() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig(QUOTA_USAGE).patch("a", merging({}))

    assert caught.value.code == 405


async def test_another_version_of_the_kind_is_invalid() -> None:
    rig, _ = await a_rig()

    with pytest.raises(StatusError) as caught:
        await rig.patch("a", merging({"apiVersion": "garden.sapcloud.io/v2"}))

    assert [field for field, _ in causes(caught.value)] == ["apiVersion"]


async def test_a_kind_without_status_is_updated_whole() -> None:
    rig = Rig(CLOUD_PROFILE)
    written = await rig.create(a_profile(name="aws"))
    machines = [{"name": "small", "cpu": "4", "gpu": "0", "memory": "8Gi"}]

    new = await rig.patch(
        "aws", merging({"spec": {"aws": {"constraints": {"machineTypes": machines}}}})
    )

    assert new.resource_version > written.resource_version
