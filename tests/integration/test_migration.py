"""What docs/migration.md tells users of the predecessor, where a client of theirs could trip over it."""

import pytest

from apis.meta.transaction import Object
from tests.builders import API_VERSION, a_binding, a_profile, a_quota, a_shoot, an_object
from tests.harness.api import Api
from tests.harness.server import GROUP_PATH, ServerProcess

QUOTAS = "namespaces/garden-trial/quotas"


def wide(**spec: object) -> Object:
    fields = {"scope": "secret", **spec}
    return an_object("Quota", name="other", namespace="garden-trial", spec=fields)


async def prepare(api: Api) -> None:
    await api.have(a_profile(), a_quota(metrics={"cpu": "100"}), a_binding(quotas=["quota"]))


async def test_no_kind_is_overwritten_without_a_version(api: Api) -> None:
    await prepare(api)
    for obj in (a_profile(), a_quota(metrics={"cpu": "100"}), a_binding(quotas=["quota"])):
        answer = await api.update(obj)
        assert answer.status == 422
        assert answer.message.endswith("must be specified for an update")


async def test_a_body_says_what_it_is(api: Api) -> None:
    body = {key: value for key, value in a_quota().items() if key not in ("kind", "apiVersion")}
    answer = await api.request("POST", QUOTAS, body)
    assert (answer.status, "Object 'Kind' is missing" in answer.message) == (400, True)


async def test_the_namespace_may_be_left_to_the_path(api: Api) -> None:
    quota = a_quota()
    del quota["metadata"]["namespace"]
    assert (await api.request("POST", QUOTAS, quota)).status == 201


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({}, "spec.metrics: Required value"),
        ({"metrics": {"cpu": None}}, "write 0 for none, or leave it out for no limit"),
        ({"metrics": {"pods": "1"}}, 'Unsupported value: "pods"'),
        ({"metrics": {}, "clusterLifetimeDays": 0}, "spec.clusterLifetimeDays: Invalid value: 0"),
    ],
)
async def test_a_quota_that_cannot_be_meant_is_refused(api: Api, spec: Object, fault: str) -> None:
    answer = await api.create(wide(**spec))
    assert (answer.status, fault in answer.message) == (422, True)


async def test_a_lifetime_alone_is_a_quota(api: Api) -> None:
    assert (await api.create(wide(metrics={}, clusterLifetimeDays=14))).status == 201


async def test_shoots_are_selected_by_profile_and_binding_not_by_seed(api: Api) -> None:
    await prepare(api)
    await api.have(a_shoot())
    for selector, status in (
        ("spec.cloud.seed=a", 400),
        ("spec.cloud.profile=aws", 200),
        ("spec.cloud.secretBindingRef.name=binding", 200),
    ):
        answer = await api.request("GET", "shoots", params={"fieldSelector": selector})
        assert answer.status == status
        assert len(answer.body.get("items", ["none"])) == 1


async def test_no_kind_is_in_the_category_all(api: Api) -> None:
    found = await api.request("GET", GROUP_PATH)
    assert all("all" not in item.get("categories", ()) for item in found.body["resources"])


async def test_the_columns_of_shoots(server: ServerProcess) -> None:
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    async with (
        server.client() as session,
        session.get(f"{GROUP_PATH}/shoots", headers={"Accept": accept}) as answer,
    ):
        columns = (await answer.json())["columnDefinitions"]
    shown = [column["name"] for column in columns if column["priority"] == 0]
    hidden = [column["name"] for column in columns if column["priority"] == 1]
    assert shown == ["Name", "CloudProfile", "Version", "Binding", "Charge", "Expires", "Age"]
    assert hidden == ["Seed", "Domain", "Operation", "Progress"]


async def test_a_shoot_gets_no_finalizer_and_no_defaults_beside_what_is_counted(api: Api) -> None:
    await prepare(api)
    shoot = a_shoot()
    shoot["metadata"]["annotations"] = {"shoot.garden.sapcloud.io/operation": "reconcile"}
    created = (await api.create(shoot)).body

    assert "finalizers" not in created["metadata"]
    assert created["metadata"]["generation"] == 1
    assert set(created["spec"]) == {"cloud", "kubernetes"}
    assert created["spec"]["kubernetes"]["allowPrivilegedContainers"] is True
    annotation = {"metadata": {"annotations": {"shoot.garden.sapcloud.io/operation": "retry"}}}
    patched = (await api.patch("Shoot", "garden-dev", "shoot", annotation)).body
    assert patched["metadata"]["generation"] == 1
    assert "shoot.garden.sapcloud.io/operation" in patched["metadata"]["annotations"]


async def test_what_quotas_do_not_count_is_stored_as_it_comes(api: Api) -> None:
    await prepare(api)
    shoot = a_shoot()
    shoot["spec"]["cloud"] |= {"region": "nowhere", "seed": "none"}
    shoot["spec"]["cloud"]["aws"] |= {"zones": ["z9"], "networks": {"nodes": "no range"}}
    shoot["spec"]["kubernetes"]["version"] = "99.0"
    beside = {
        "dns": {"domain": "..."},
        "backup": {"schedule": "never"},
        "maintenance": {"timeWindow": {"begin": "x"}},
    }
    shoot["spec"] |= beside
    created = (await api.create(shoot)).body
    assert {key: created["spec"].get(key) for key in beside} == beside
    assert created["spec"]["cloud"]["aws"]["networks"] == {"nodes": "no range"}


async def test_an_exported_shoot_keeps_its_age_and_its_status(api: Api) -> None:
    await prepare(api)
    creation = {"quota.garden.sapcloud.io/creationTime": "2024-01-02T03:04:05Z"}
    exported = a_shoot() | {"status": {"lastOperation": {"state": "Succeeded", "progress": 100}}}
    exported["metadata"]["annotations"] = creation
    await api.have(exported)
    path = "namespaces/garden-dev/shoots/shoot"
    stored = (await api.request("GET", path)).body
    exported["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]

    answer = await api.request("PUT", f"{path}/status", exported)

    assert answer.status == 200
    assert answer.body["apiVersion"] == API_VERSION
    assert answer.body["status"] == exported["status"]
    assert creation.items() <= answer.body["metadata"]["annotations"].items()
