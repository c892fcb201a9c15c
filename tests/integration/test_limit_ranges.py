"""ShootLimitRanges as clients meet them: what is filled in, refused, let pass and warned of."""

from apis.meta.transaction import Object
from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker, an_object
from tests.harness.api import Api, path_of
from tests.harness.server import GROUP_PATH, ServerProcess

RANGE = "ShootLimitRange garden-dev"
WORKER = "spec.cloud.aws.workers[0]"


def a_range(name: str, *limits: Object, **spec: object) -> Object:
    fields = {"limits": list(limits), **spec}
    return an_object("ShootLimitRange", name=name, namespace="garden-dev", spec=fields)


def workers(**amounts: str) -> Object:
    """Limits of workers' machines."""
    return {"type": "Worker", **{name: {"machines": text} for name, text in amounts.items()}}


def open_worker(*fields: str) -> Object:
    """A worker that leaves fields open."""
    return {name: value for name, value in a_worker().items() if name not in fields}


async def prepare(api: Api, **quota: object) -> None:
    limited = a_quota(metrics={"cpu": "100"})
    limited["spec"].update(quota)
    await api.have(a_profile(), limited, a_binding(quotas=["quota"]))


async def test_bounds_of_a_range_become_its_defaults_and_a_limit_the_request(api: Api) -> None:
    await prepare(api)
    storage = {"type": "Machine", "max": {"storage.standard": "40Gi"}}
    await api.have(a_range("small", workers(min="2", max="3"), storage))
    bare = a_shoot(workers=[open_worker("autoScalerMin", "autoScalerMax", "volumeSize")])

    [worker] = (await api.create(bare, dry_run=True)).body["spec"]["cloud"]["aws"]["workers"]
    limited = a_shoot(workers=[open_worker("autoScalerMin") | {"autoScalerMax": 2}])
    [other] = (await api.create(limited, dry_run=True)).body["spec"]["cloud"]["aws"]["workers"]

    assert (worker["autoScalerMin"], worker["autoScalerMax"]) == (3, 3)
    assert worker["volumeSize"] == "40Gi"
    assert (other["autoScalerMin"], other["autoScalerMax"]) == (2, 2)


async def test_a_default_that_conflicts_is_told_as_the_range_s(api: Api) -> None:
    await prepare(api)
    await api.have(a_range("small", workers(default="2")))
    shoot = a_shoot(workers=[open_worker("autoScalerMax") | {"autoScalerMin": 5}])

    answer = await api.create(shoot)

    assert answer.status == 422
    assert answer.body["details"]["causes"] == [
        {
            "reason": "FieldValueInvalid",
            "field": f"{WORKER}.autoScalerMax",
            "message": "Invalid value: 2: must be greater than or equal to autoScalerMin (5); "
            f"this is the default of {RANGE}/small",
        }
    ]


async def test_a_default_that_a_quota_or_a_profile_does_not_allow_is_told_as_the_range_s(
    api: Api,
) -> None:
    await prepare(api, machineTypes=["large"])
    shoot = a_shoot(workers=[open_worker("machineType")])

    for default, status in (("small", 403), ("unheard-of", 422)):
        created = a_range("types", defaultMachineType=default)
        await api.have(created)
        answer = await api.create(shoot)
        assert answer.status == status
        assert f"{WORKER}.machineType" in answer.message
        assert answer.message.endswith(f" is the default of {RANGE}/types")
        await api.delete_object(created)


async def test_a_quota_s_refusal_says_what_the_client_did_not_write(api: Api) -> None:
    await prepare(api)
    await api.have(a_range("large", workers(max="60")))
    shoot = a_shoot(workers=[open_worker("autoScalerMin", "autoScalerMax")])

    answer = await api.create(shoot)

    assert answer.status == 403
    assert "requested: cpu=120" in answer.message
    assert answer.message.endswith(
        f"; {WORKER}.autoScalerMax is the default of {RANGE}/large"
        f"; {WORKER}.autoScalerMin is the default of {RANGE}/large"
    )


async def test_a_new_maximum_blocks_only_what_grows_beyond_it(api: Api) -> None:
    await prepare(api)
    large = a_worker(maximum=5)
    await api.have(a_shoot(workers=[large]), a_range("small", workers(max="1")))

    async def update(*changed: Object, nginx: bool = False) -> tuple[int, str]:
        shoot = a_shoot(workers=changed, nginx=nginx)
        stored = (await api.get("Shoot", "garden-dev", "shoot")).body
        shoot["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
        answer = await api.update(shoot)
        return answer.status, answer.message

    second = a_worker(name="second")
    assert (await update(large, nginx=True))[0] == 200
    assert (await update(large, second))[0] == 200
    assert (await update(a_worker(maximum=4), second))[0] == 200
    refused = f"but limit is 5 ({RANGE}/small)"
    for changed in ([large, second], [a_worker(maximum=4), a_worker(name="third", maximum=5)]):
        status, message = await update(*changed)
        assert (status, message.endswith(refused)) == (403, True)
    assert await api.used("garden-trial", "quota") == {"cpu": "10"}


async def test_ranges_that_contradict_each_other_are_stored_with_a_warning(
    api: Api, server: ServerProcess
) -> None:
    await api.have(a_range("least", workers(min="5")))
    most = a_range("most", workers(max="3"))

    async with (
        server.client() as session,
        session.post(f"{GROUP_PATH}/{path_of(most)}", json=most) as answer,
    ):
        assert answer.status == 201
        assert answer.headers.getall("Warning") == [
            f"299 - \"contradicts {RANGE}/least: the other's min of machines per Worker, 5, "
            'is greater than its max, 3"'
        ]
