"""What is told of a field that was probably meant for one that is counted, by every way of writing."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import CLOUD_PROFILE, SHOOT
from apis.meta.codec import copy
from apis.meta.errors import StatusError
from apis.meta.transaction import Object
from tests.builders import a_profile, a_shoot, a_worker
from tests.fakes.registry_rig import NAMESPACE, Rig, merging

PATH = "spec.aws.constraints.machineTypes[0].gpus"
TOLD = f'unknown field "{PATH}" (it counts for nothing; did you mean "gpu"?)'
REFUSED = (
    'CloudProfile in version "v1beta1" cannot be handled as a CloudProfile: '
    f"strict decoding error: {TOLD}"
)


def misspelt(**metadata: object) -> Object:
    profile: Object = copy(a_profile(name="a"))
    profile["spec"]["aws"]["constraints"]["machineTypes"][0]["gpus"] = "8"
    profile["metadata"] |= metadata
    return profile


def machine(rig: Rig) -> Object:
    stored = rig.stored("a")
    assert stored is not None
    found: Object = stored["spec"]["aws"]["constraints"]["machineTypes"][0]
    return found


async def test_a_create_refuses_it_when_strict() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig(CLOUD_PROFILE).create(misspelt(), field_validation="Strict")

    assert (caught.value.code, caught.value.message) == (400, REFUSED)


@pytest.mark.parametrize(("validation", "warnings"), [("Warn", (TOLD,)), ("Ignore", ())])
async def test_else_it_is_kept(validation: str, warnings: tuple[str, ...]) -> None:
    rig = Rig(CLOUD_PROFILE)

    written = await rig.create(misspelt(), field_validation=validation)

    assert written.warnings == warnings
    assert machine(rig)["gpus"] == "8"


async def test_a_replace_tells_what_it_says_whatever_is_stored() -> None:
    rig = Rig(CLOUD_PROFILE)
    await rig.create(misspelt(), field_validation="Ignore")
    version = str(rig.memory.records[rig.key("a")].resource_version)

    with pytest.raises(StatusError, match="did you mean"):
        await rig.update(misspelt(resourceVersion=version), field_validation="Strict")


async def test_a_patch_tells_what_it_brings_and_not_what_it_found() -> None:
    rig = Rig(CLOUD_PROFILE)
    await rig.create(misspelt(), field_validation="Ignore")
    label = merging({"metadata": {"labels": {"a": "b"}}})

    def rename(obj: Object) -> Object:
        types = obj["spec"]["aws"]["constraints"]["machineTypes"]
        types.insert(0, {**types[1], "name": "new"})
        return obj

    def more(obj: Object) -> Object:
        obj["spec"]["aws"]["constraints"]["machineTypes"][0]["gpus"] = "9"
        return obj

    def other(obj: Object) -> Object:
        obj["spec"]["aws"]["constraints"]["machineTypes"][0]["useable"] = False
        return obj

    assert (await rig.patch("a", label, field_validation="Strict")).warnings == ()
    for transform in (more, other):
        with pytest.raises(StatusError, match="did you mean") as caught:
            await rig.patch("a", transform, field_validation="Strict")
        assert caught.value.code == 422
    assert (await rig.patch("a", rename, field_validation="Strict")).warnings == ()
    assert "did you mean" in (await rig.patch("a", other)).warnings[0]


@pytest.mark.parametrize("exists", [False, True])
async def test_an_apply_tells_what_its_configuration_says(exists: bool) -> None:
    rig = Rig(CLOUD_PROFILE)
    if exists:
        await rig.create(a_profile(name="a"))

    with pytest.raises(StatusError) as caught:
        await rig.apply(misspelt(), "me", force=True, field_validation="Strict")
    written = await rig.apply(misspelt(), "me", force=True)
    silent = await rig.apply(misspelt(), "me", force=True, field_validation="Ignore")

    assert (caught.value.code, caught.value.message) == (400, REFUSED)
    assert written.warnings == (TOLD,)
    assert silent.warnings == ()
    assert machine(rig)["gpus"] == "8"


async def test_a_required_field_that_has_another_name_is_told_by_both() -> None:
    profile = misspelt()
    types = profile["spec"]["aws"]["constraints"]["machineTypes"]
    types[0]["cpus"] = types[0].pop("cpu")

    with pytest.raises(StatusError) as caught:
        await Rig(CLOUD_PROFILE).create(profile)

    assert caught.value.message.endswith(
        "machineTypes[0].cpu: Required value: cpus is not known here, cpu is what counts"
    )


WORKER = "spec.cloud.aws.workers[0]"


@pytest.mark.parametrize(
    ("change", "path", "meant"),
    [
        ({"autoscalerMax": 9}, f"{WORKER}.autoscalerMax", "autoScalerMax"),
        ({"volumesize": "9Gi"}, f"{WORKER}.volumesize", "volumeSize"),
        ({"machinetype": "x"}, f"{WORKER}.machinetype", "machineType"),
    ],
)
async def test_workers_of_shoots(change: dict[str, Any], path: str, meant: str) -> None:
    shoot = a_shoot(name="a", namespace=NAMESPACE, workers=[{**a_worker(), **change}])

    written = await Rig(SHOOT).create(shoot)

    assert written.warnings == (
        f'unknown field "{path}" (it counts for nothing; did you mean "{meant}"?)',
    )


async def test_what_a_shoot_may_have_besides_is_no_near_miss() -> None:
    more = {"maxSurge": 1, "labels": {}, "taints": [], "zones": [], "kubelet": {}, "volumes": []}
    shoot = a_shoot(name="a", namespace=NAMESPACE, workers=[{**a_worker(), **more}])

    assert (await Rig(SHOOT).create(shoot, field_validation="Strict")).warnings == ()


@pytest.mark.parametrize("addon", ["nginxIngress", "nginx_ingress", "nginx-ingres", "nginx"])
async def test_the_addon_that_takes_a_load_balancer(addon: str) -> None:
    shoot = a_shoot(name="a", namespace=NAMESPACE)
    shoot["spec"]["addons"] = {addon: {"enabled": True}, "kube-lego": {"enabled": True}}

    [warning] = (await Rig(SHOOT).create(shoot)).warnings

    assert 'did you mean "nginx-ingress"' in warning
