"""What a client is told beside the answer: by decoding, the kind, the plugins, in this order."""

from dataclasses import replace

import pytest

from apis.garden.v1beta1.register import QUOTA
from apis.meta.errors import StatusError
from apis.meta.request import Attributes
from apis.meta.transaction import Object
from tests.builders import a_quota
from tests.fakes.registry_rig import NAMESPACE, Rig, merging


def of_kind(new: Object, old: Object | None) -> list[str]:
    cpu = new["spec"]["metrics"].get("cpu")
    before = None if old is None else old["spec"]["metrics"].get("cpu")
    return [f"cpu {before} -> {cpu}"] if cpu != before else []


def mutating(attributes: Attributes) -> None:
    attributes.warnings.append("mutating")


def validating(attributes: Attributes) -> None:
    attributes.warnings.append("validating")


def a_rig() -> Rig:
    return Rig(replace(QUOTA, warnings=of_kind), [mutating], [validating])


def quota(cpu: str = "1", **more: object) -> Object:
    return a_quota(name="a", namespace=NAMESPACE, metrics={"cpu": cpu}) | more


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_create_tells_what_everybody_has_to_say(dry_run: bool) -> None:
    written = await a_rig().create(quota(extra=1), dry_run=dry_run)

    assert written.warnings == (
        'unknown field "extra"',
        "mutating",
        "cpu None -> 1",
        "validating",
    )


@pytest.mark.parametrize("dry_run", [False, True])
async def test_updates_of_every_form_see_the_old_object(dry_run: bool) -> None:
    rig = a_rig()
    await rig.create(quota())
    change = {"spec": {"metrics": {"cpu": "2"}}}
    whole = quota("2")
    expected = ("mutating", "cpu 1 -> 2", "validating")
    config = {"apiVersion": whole["apiVersion"], "kind": "Quota", "metadata": {"name": "a"}}

    patched = await rig.patch("a", merging(change), dry_run=dry_run)
    assert patched.warnings == expected
    await rig.patch("a", merging({"spec": {"metrics": {"cpu": "1"}}}))
    whole["metadata"]["resourceVersion"] = str(rig.memory.records[rig.key("a")].resource_version)
    assert (await rig.update(whole, dry_run=dry_run)).warnings == expected
    await rig.patch("a", merging({"spec": {"metrics": {"cpu": "1"}}}))
    applied = await rig.apply({**config, **change}, "me", force=True, dry_run=dry_run)
    assert applied.warnings == expected


async def test_an_update_that_changes_nothing_is_warned_about_by_plugins_alone() -> None:
    rig = a_rig()
    await rig.create(quota())

    assert (await rig.patch("a", lambda obj: obj)).warnings == ("mutating", "validating")


async def test_an_apply_that_creates_tells_them_too() -> None:
    config = quota()
    del config["metadata"]["namespace"]

    written = await a_rig().apply(config, "me")

    assert written.created
    assert written.warnings == ("mutating", "cpu None -> 1", "validating")


async def test_a_delete_tells_what_plugins_say() -> None:
    rig = a_rig()
    await rig.create(quota())

    assert (await rig.delete("a")).warnings == ("validating",)


async def test_what_is_judged_again_is_told_once() -> None:
    rig = a_rig()
    await rig.create(quota())
    rig.elsewhere("a", lambda obj: obj["metadata"].setdefault("labels", {}).update(a="b"))

    written = await rig.patch("a", merging({"spec": {"metrics": {"cpu": "2"}}}))

    assert written.warnings == ("mutating", "cpu 1 -> 2", "validating")


async def test_a_plugin_that_says_one_thing_twice_is_heard_once() -> None:
    rig = a_rig()
    rig.validating.append(validating)

    assert (await rig.create(quota())).warnings.count("validating") == 1


async def test_the_kind_is_not_asked_about_what_is_refused() -> None:
    asked: list[Object] = []

    def asking(new: Object, _old: Object | None) -> list[str]:
        asked.append(new)
        return []

    with pytest.raises(StatusError):
        await Rig(replace(QUOTA, warnings=asking)).create(quota("-1"))

    assert asked == []
