"""Who owns what after the registry's writes, and server-side apply by way of it."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import SHOOT
from apis.meta.codec import Decoded, decode_json
from apis.meta.errors import StatusError
from apis.meta.transaction import Object
from quotaapi.registry.options import WriteOptions, Written
from tests.builders import a_quota
from tests.fakes.registry_rig import NAMESPACE, NOW_TEXT, USER, Rig, merging

READY = {
    "type": "Ready",
    "status": "True",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": NOW_TEXT,
}


def shown(written: Written) -> Object:
    obj: Object = decode_json(written.json()).value
    return obj


def owners(written: Written) -> dict[tuple[str, str], Any]:
    """(manager, operation) -> fields."""
    entries = shown(written)["metadata"].get("managedFields", ())
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def config(**spec: Any) -> Object:
    return {
        "apiVersion": "garden.sapcloud.io/v1beta1",
        "kind": "Quota",
        "metadata": {"name": "a"},
        "spec": {"scope": "secret", "metrics": {"cpu": "1"}, **spec},
    }


async def test_a_new_object_is_its_creators() -> None:
    written = await Rig().create(a_quota(name="a"), field_manager="alice")

    (entry,) = shown(written)["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["time"]) == ("alice", "Update", NOW_TEXT)


async def test_an_update_takes_what_it_changes() -> None:
    rig = Rig()
    await rig.create(a_quota(name="a"), field_manager="alice")

    written = await rig.patch(
        "a", merging({"metadata": {"labels": {"x": "1"}}}), field_manager="bob"
    )

    assert owners(written)["bob", "Update"] == {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}}


async def test_an_update_that_changes_nothing_writes_nothing() -> None:
    rig = Rig()
    created = await rig.create(a_quota(name="a"), field_manager="alice")

    written = await rig.patch("a", merging({}), field_manager="bob")

    assert written.resource_version == created.resource_version


async def test_a_client_may_end_the_tracking() -> None:
    rig = Rig()
    await rig.create(a_quota(name="a"), field_manager="alice")

    written = await rig.patch("a", merging({"metadata": {"managedFields": [{}]}}))

    assert "managedFields" not in shown(written)["metadata"]


async def test_a_status_write_owns_nothing_that_is_the_servers() -> None:
    rig = Rig()
    await rig.create(a_quota(name="a"), field_manager="alice")
    status = {"used": {"cpu": "0"}, "conditions": [READY]}

    written = await rig.patch(
        "a", merging({"status": status}), subresource="status", field_manager="ctl"
    )

    assert owners(written)["ctl", "Update"]["f:status"].keys() == {".", "f:conditions"}


async def test_an_apply_creates_what_does_not_exist() -> None:
    written = await Rig().apply(config(), "alice")

    assert written.created
    assert owners(written) == {
        ("alice", "Apply"): {"f:spec": {"f:scope": {}, "f:metrics": {"f:cpu": {}}}}
    }


async def test_an_apply_that_says_the_same_again_writes_nothing() -> None:
    rig = Rig()
    created = await rig.apply(config(), "alice")

    again = await rig.apply(config(), "alice")

    assert again.resource_version == created.resource_version
    assert not again.created


async def test_what_another_manager_owns_is_a_conflict() -> None:
    rig = Rig()
    await rig.apply(config(), "alice")

    with pytest.raises(StatusError) as caught:
        await rig.apply(config(metrics={"cpu": "2"}), "bob")

    assert caught.value.code == 409
    assert caught.value.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "alice"',
                "field": ".spec.metrics.cpu",
            }
        ]
    }


async def test_force_takes_it() -> None:
    rig = Rig()
    await rig.apply(config(), "alice")

    written = await rig.apply(config(metrics={"cpu": "2"}), "bob", force=True)

    assert shown(written)["spec"]["metrics"] == {"cpu": "2"}
    assert owners(written)["alice", "Apply"] == {"f:spec": {"f:scope": {}}}


async def test_what_an_applier_leaves_out_goes() -> None:
    rig = Rig()
    await rig.apply(config(metrics={"cpu": "1", "memory": "1Gi"}), "alice")

    written = await rig.apply(config(), "alice")

    assert shown(written)["spec"]["metrics"] == {"cpu": "1"}


async def test_an_apply_to_the_status_does_not_create() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig().apply({**config(), "status": {}}, "ctl", subresource="status")

    assert caught.value.code == 404


async def test_an_apply_to_the_status_changes_the_status_alone() -> None:
    rig = Rig()
    await rig.apply(config(), "alice")
    change = {**config(metrics={"cpu": "9"}), "status": {"conditions": [READY]}}

    written = await rig.apply(change, "ctl", subresource="status")

    assert shown(written)["spec"]["metrics"] == {"cpu": "1"}
    assert shown(written)["status"] == {"conditions": [READY]}


async def test_an_outdated_version_in_a_configuration_conflicts() -> None:
    rig = Rig()
    created = await rig.apply(config(), "alice")
    await rig.apply(config(metrics={"cpu": "2"}), "alice")
    outdated = config(metrics={"cpu": "3"})
    outdated["metadata"]["resourceVersion"] = str(created.resource_version)

    with pytest.raises(StatusError) as caught:
        await rig.apply(outdated, "alice")

    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert "has been modified" in caught.value.message


async def test_a_uid_means_an_object_that_exists() -> None:
    wanted = config()
    wanted["metadata"]["uid"] = "u"

    with pytest.raises(StatusError, match="uid mismatch") as caught:
        await Rig().apply(wanted, "alice")

    assert caught.value.code == 409


async def test_another_name_than_the_paths_is_refused_on_either_way() -> None:
    rig = Rig()
    for _ in range(2):
        with pytest.raises(StatusError, match=r"\(a\) does not match the name on the URL \(b\)"):
            await rig.apply(config(), "alice", name="b", force=True)
        if rig.stored("b") is None:
            await rig.create(a_quota(name="b"))


async def test_a_dry_run_of_an_apply_stores_nothing() -> None:
    rig = Rig()

    written = await rig.apply(config(), "alice", dry_run=True)

    assert written.created
    assert rig.stored("a") is None


@pytest.mark.parametrize(("validation", "warnings"), [("Warn", 1), ("Ignore", 0)])
async def test_a_field_that_is_said_twice_is_told(validation: str, warnings: int) -> None:
    rig = Rig()
    options = WriteOptions(field_manager="alice", field_validation=validation)

    written = await rig.store.apply(
        USER, NAMESPACE, "a", Decoded(config(), ("metadata.name",)), options
    )

    assert len(written.warnings) == warnings


async def test_a_field_that_is_said_twice_is_refused_where_that_is_asked_for() -> None:
    rig = Rig()
    options = WriteOptions(field_manager="alice", field_validation="Strict")

    with pytest.raises(StatusError, match="error strict decoding YAML") as caught:
        await rig.store.apply(USER, NAMESPACE, "a", Decoded(config(), ("metadata.name",)), options)

    assert caught.value.code == 400


async def test_an_object_that_comes_into_being_meanwhile_is_applied_to() -> None:
    rig = Rig()
    await rig.create(a_quota(name="a"), field_manager="alice")
    record = rig.memory.records[rig.key("a")]
    rig.memory.lag(record.key, None)

    written = await rig.apply(config(metrics={"gpu": "1"}), "bob", force=True)

    assert not written.created
    assert ("bob", "Apply") in owners(written)


async def test_what_a_kind_preserves_is_owned_field_by_field() -> None:
    rig = Rig(resource=SHOOT)
    shoot = {
        "apiVersion": "garden.sapcloud.io/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": "a"},
        "spec": {
            "dns": {"provider": "x"},
            "kubernetes": {"version": "1.32.0"},
            "cloud": {
                "profile": "p",
                "region": "r",
                "secretBindingRef": {"name": "b"},
                "local": {},
            },
        },
    }

    written = await rig.apply(shoot, "alice")

    assert owners(written)["alice", "Apply"]["f:spec"]["f:dns"] == {".": {}, "f:provider": {}}
