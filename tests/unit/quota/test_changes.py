"""What each kind of write does to the books, on a world without concurrency."""

import pytest

from apis.meta.errors import StatusError
from apis.meta.transaction import Object
from tests import builders
from tests.fakes.world import World

SECRET = "garden.sapcloud.io/quotas/garden-trial/secret"
PROJECT = "garden.sapcloud.io/quotas/garden-trial/project"
PROJECT_USAGE = "garden.sapcloud.io/quotausages/garden-dev/garden-trial.project"
SECRET_USAGE = "garden.sapcloud.io/quotausages/garden-dev/garden-trial.secret"
LEDGER = ".ledger/bindings/crosssecretbindings/garden-dev/binding"


@pytest.fixture
def world() -> World:
    """A secret quota of 20 cpu, a project quota of 8 cpu, and one binding that names both."""
    world = World()
    world.put(builders.a_profile())
    world.put(builders.a_quota(name="secret", metrics={"cpus": "20", "memory": "400Gi"}))
    world.put(builders.a_quota(name="project", scope="project", metrics={"cpu": "8"}))
    world.put(builders.a_binding(quotas=["secret", "project"]))
    return world


def a_shoot(name: str = "shoot", machines: int = 1, binding: str = "binding") -> Object:
    workers = [builders.a_worker(maximum=machines, minimum=0)]
    return builders.a_shoot(name=name, workers=workers, binding=binding)


def test_a_new_secret_quota_shows_zero_used(world: World) -> None:
    status = world.get(SECRET)["status"]

    assert status["hard"] == {"cpus": "20", "memory": "400Gi"}
    assert status["used"] == {"cpus": "0", "memory": "0"}


def test_a_new_project_quota_has_no_status(world: World) -> None:
    assert "status" not in world.get(PROJECT)


def test_a_shoot_is_charged_on_every_ledger_of_its_route(world: World) -> None:
    world.put(a_shoot(machines=3))

    assert world.get(SECRET)["status"]["used"] == {"cpus": "6", "memory": "24Gi"}
    assert world.get(PROJECT_USAGE)["status"] == {"used": {"cpu": "6"}, "hard": {"cpu": "8"}}
    assert world.get(SECRET_USAGE)["status"] == {"used": {"cpus": "6", "memory": "24Gi"}}
    assert world.charge(LEDGER)["shoots"] == "1"
    assert world.records[LEDGER].header.count == 1
    assert (
        world.charge("garden.sapcloud.io/shoots/garden-dev/shoot")
        == world.charge(SECRET)
        == world.charge(LEDGER)
    )


def test_a_create_touches_as_many_keys_with_many_shoots_on_the_quota_as_with_few() -> None:
    def keys_touched(shoots: int) -> int:
        world = World()
        world.put(builders.a_profile())
        world.put(builders.a_quota(name="secret", metrics={"cpu": "1000000000"}))
        world.put(builders.a_binding(quotas=["secret"]))
        for number in range(shoots):
            world.put(a_shoot(f"shoot-{number}"))
        world.put(a_shoot("last", machines=10**7))
        last = world.revision
        return sum(record.mod_revision == last for record in world.records.values())

    assert keys_touched(1) == keys_touched(300) == 4


def test_every_quota_that_refuses_is_named(world: World) -> None:
    with pytest.raises(StatusError) as refused:
        world.put(a_shoot(machines=11))

    assert refused.value.code == 403
    assert (
        "exceeded quota: secret, requested: cpus=22, used: cpus=0, limited: cpus=20; "
        "exceeded quota: project, requested: cpu=22, used: cpu=0, limited: cpu=8"
    ) in refused.value.message


def test_a_dry_run_is_judged_and_not_charged(world: World) -> None:
    before = dict(world.records)

    world.put(a_shoot(machines=4), dry_run=True)

    assert world.records == before
    with pytest.raises(StatusError):
        world.put(a_shoot(machines=5), dry_run=True)


def test_scaling_up_charges_the_difference(world: World) -> None:
    world.put(a_shoot(machines=1))

    world.put(a_shoot(machines=4))

    assert world.get(PROJECT_USAGE)["status"]["used"] == {"cpu": "8"}


def test_scaling_down_passes_above_a_lowered_limit(world: World) -> None:
    world.put(a_shoot(machines=4))
    world.put(_with_hard(world, PROJECT, {"cpu": "2"}))

    world.put(a_shoot(machines=3))

    assert world.get(PROJECT_USAGE)["status"] == {"used": {"cpu": "6"}, "hard": {"cpu": "2"}}
    with pytest.raises(StatusError):
        world.put(a_shoot(machines=4))


def test_labels_of_a_shoot_over_its_limit_can_be_changed(world: World) -> None:
    world.put(a_shoot(machines=4))
    world.put(_with_hard(world, PROJECT, {"cpu": "0"}))
    shoot = world.get("garden.sapcloud.io/shoots/garden-dev/shoot")
    shoot["metadata"]["labels"] = {"a": "b"}

    world.put(shoot)

    assert world.charge("garden.sapcloud.io/shoots/garden-dev/shoot")["cpu"] == "8"


def test_removing_the_last_shoot_removes_usages_and_ledger(world: World) -> None:
    world.put(a_shoot())

    world.delete("Shoot", "garden-dev", "shoot")

    assert world.get(SECRET)["status"]["used"] == {"cpus": "0", "memory": "0"}
    assert not {PROJECT_USAGE, SECRET_USAGE, LEDGER} & world.records.keys()


def test_a_release_returns_what_was_charged_whatever_the_profile_says_today(world: World) -> None:
    world.put(a_shoot("one", machines=1))
    world.put(a_shoot("two", machines=1))
    world.put(builders.a_profile(machines={"small": {"cpu": "64", "gpu": "0", "memory": "1Gi"}}))

    world.delete("Shoot", "garden-dev", "one")

    assert world.get(PROJECT_USAGE)["status"]["used"] == {"cpu": "2"}


def test_a_machine_type_removed_from_the_profile_blocks_nobody_else(world: World) -> None:
    world.put(a_shoot("one"))
    profile = builders.a_profile(machines={"large": builders.MACHINES["large"]})
    world.put(profile)

    world.put(builders.a_shoot(name="two", workers=[builders.a_worker(machine="large")]))
    with pytest.raises(StatusError) as unknown:
        world.put(a_shoot("three"))

    assert unknown.value.code == 422
    assert "spec.cloud.aws.workers[0].machineType" in unknown.value.message


def test_a_shoot_whose_machine_type_is_gone_can_be_scaled_down(world: World) -> None:
    world.put(a_shoot(machines=3))
    world.put(builders.a_profile(machines={"large": builders.MACHINES["large"]}))

    world.put(a_shoot(machines=1))

    assert world.get(PROJECT_USAGE)["status"]["used"] == {"cpu": "2"}


def terminating(machines: int) -> Object:
    shoot = a_shoot(machines=machines)
    shoot["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"]}
    return shoot


def test_growth_of_a_terminating_shoot_is_judged_and_charged(world: World) -> None:
    world.put(a_shoot(machines=1))
    world.put(terminating(1))

    world.put(terminating(4))
    assert world.get(PROJECT_USAGE)["status"]["used"] == {"cpu": "8"}
    with pytest.raises(StatusError, match="exceeded quota"):
        world.put(terminating(1000))


def test_a_terminating_shoot_above_its_limit_shrinks_and_loses_finalizers(world: World) -> None:
    world.put(a_shoot(machines=4))
    world.put(_with_hard(world, PROJECT, {"cpu": "0"}))
    world.put(terminating(4))

    world.put(terminating(2))
    assert world.get(PROJECT_USAGE)["status"]["used"] == {"cpu": "4"}
    unfinished = terminating(2)
    unfinished["metadata"]["finalizers"] = []
    world.put(unfinished)
    world.delete("Shoot", "garden-dev", "shoot")
    assert PROJECT_USAGE not in world.records


DEARER = {**builders.MACHINES, "small": {"cpu": "10", "gpu": "0", "memory": "8Gi"}}
CHEAPER = {**builders.MACHINES, "small": {"cpu": "1", "gpu": "0", "memory": "8Gi"}}


def used(world: World) -> str:
    found: str = world.get(PROJECT_USAGE)["status"]["used"]["cpu"]
    return found


def test_shrinking_after_a_price_rise_returns_what_was_charged(world: World) -> None:
    world.put(a_shoot(machines=3))
    world.put(builders.a_profile(machines=DEARER))

    world.put(a_shoot(machines=2))

    assert used(world) == "4"


def test_growth_after_a_price_rise_has_to_fit_at_the_new_price_and_is_charged_at_the_old(
    world: World,
) -> None:
    world.put(_with_hard(world, PROJECT, {"cpu": "16"}))
    world.put(a_shoot(machines=1))
    world.put(builders.a_profile(machines=DEARER))

    world.put(a_shoot(machines=2))
    assert used(world) == "4"
    with pytest.raises(StatusError, match="requested: cpu=20, used: cpu=4, limited: cpu=16"):
        world.put(a_shoot(machines=4))


def test_a_change_to_a_type_that_only_the_new_prices_have_is_charged_by_them(world: World) -> None:
    world.put(a_shoot(machines=2))
    machines = {**DEARER, "new": {"cpu": "5", "gpu": "0", "memory": "8Gi"}}
    world.put(builders.a_profile(machines=machines))
    pools = [
        builders.a_worker(name="one", maximum=1),
        builders.a_worker(name="two", machine="new", maximum=1),
    ]

    world.put(builders.a_shoot(workers=pools))

    assert used(world) == str(2 + 5)


def test_an_update_after_a_fall_of_prices_has_the_new_ones(world: World) -> None:
    world.put(_with_hard(world, PROJECT, {"cpu": "6"}))
    world.put(a_shoot(machines=3))
    world.put(builders.a_profile(machines=CHEAPER))

    world.put(a_shoot(machines=6))

    assert used(world) == "6"


def test_a_shoot_without_its_binding_is_refused_at_the_field(world: World) -> None:
    with pytest.raises(StatusError) as refused:
        world.put(a_shoot(binding="missing"))

    assert refused.value.code == 422
    assert refused.value.message.endswith(
        'spec.cloud.secretBindingRef.name: Not found: "missing": there is no CrossSecretBinding '
        'of this name in namespace "garden-dev"'
    )


def test_a_machine_type_outside_the_quotas_list_is_refused(world: World) -> None:
    quota = world.get(PROJECT)
    quota["spec"]["machineTypes"] = ["large"]
    world.put(quota)

    with pytest.raises(StatusError) as refused:
        world.put(a_shoot())

    assert refused.value.code == 403
    assert "quota garden-trial/project: spec.cloud.aws.workers[0]" in refused.value.message


def test_a_shoot_without_its_profile_is_told_what_was_looked_for(world: World) -> None:
    shoot = a_shoot()
    shoot["spec"]["cloud"]["profile"] = "missing"

    with pytest.raises(StatusError) as refused:
        world.put(shoot)

    assert refused.value.message.endswith(
        'spec.cloud.profile: Not found: "missing": there is no CloudProfile of this name'
    )


def test_a_refusal_says_where_its_quotas_lie_after_the_words_of_a_resource_quota(
    world: World,
) -> None:
    world.put(a_shoot(machines=4))

    with pytest.raises(StatusError) as one:
        world.put(a_shoot("other"))
    with pytest.raises(StatusError) as both:
        world.put(a_shoot("other", machines=7))

    assert one.value.message.endswith(
        "exceeded quota: project, requested: cpu=2, used: cpu=8, limited: cpu=8 "
        "(quota garden-trial/project)"
    )
    assert both.value.message.endswith(
        "limited: cpu=8 (quotas garden-trial/secret, garden-trial/project)"
    )


def test_a_quota_in_use_is_not_deleted(world: World) -> None:
    with pytest.raises(StatusError) as refused:
        world.delete("Quota", "garden-trial", "secret")

    assert refused.value.code == 409
    assert "ns/some-binding" in refused.value.message


def test_a_binding_in_use_is_not_deleted(world: World) -> None:
    world.put(a_shoot())

    with pytest.raises(StatusError) as refused:
        world.delete("CrossSecretBinding", "garden-dev", "binding")

    assert refused.value.code == 409
    assert "ns/some-shoot" in refused.value.message


def test_deleting_a_binding_frees_its_quotas(world: World) -> None:
    world.delete("CrossSecretBinding", "garden-dev", "binding")

    world.delete("Quota", "garden-trial", "secret")
    world.delete("Quota", "garden-trial", "project")

    assert set(world.records) == {"garden.sapcloud.io/cloudprofiles/aws"}


def test_a_binding_to_a_missing_quota_is_refused_at_the_field(world: World) -> None:
    with pytest.raises(StatusError) as refused:
        world.put(builders.a_binding(name="other", quotas=["secret", "missing"]))

    assert refused.value.code == 422
    assert refused.value.message.endswith(
        'quotas[1]: Not found: "missing": there is no Quota of this name in namespace '
        '"garden-trial"'
    )


def test_a_binding_to_a_quota_that_is_going_is_refused(world: World) -> None:
    world.put(builders.a_quota(name="going", scope="project"))
    going = world.get("garden.sapcloud.io/quotas/garden-trial/going")
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}
    world.put(going)

    with pytest.raises(StatusError) as refused:
        world.put(builders.a_binding(name="other", quotas=["going"]))

    assert refused.value.message.endswith(
        'quotas[0]: Not found: "going": the Quota in namespace "garden-trial" is being deleted'
    )


def test_two_quotas_of_one_scope_are_refused(world: World) -> None:
    world.put(builders.a_quota(name="second", metrics={"cpu": "1"}))

    with pytest.raises(StatusError, match="Only one quota per scope"):
        world.put(builders.a_binding(name="other", quotas=["secret", "second"]))


def test_charges_move_when_the_quotas_of_a_binding_change(world: World) -> None:
    world.put(a_shoot("one", machines=1))
    world.put(a_shoot("two", machines=2))
    world.put(builders.a_quota(name="second", metrics={"cpu": "6"}))

    world.put(builders.a_binding(quotas=["second", "project"]))

    assert world.get(SECRET)["status"]["used"] == {"cpus": "0", "memory": "0"}
    assert SECRET_USAGE not in world.records
    second = world.get("garden.sapcloud.io/quotas/garden-trial/second")
    assert second["status"]["used"] == {"cpu": "6"}
    world.delete("Quota", "garden-trial", "secret")


def test_charges_do_not_move_into_a_quota_without_room(world: World) -> None:
    world.put(a_shoot(machines=3))
    world.put(builders.a_quota(name="second", metrics={"cpu": "5"}))

    with pytest.raises(StatusError, match="exceeded quota: second, requested: cpu=6"):
        world.put(builders.a_binding(quotas=["second", "project"]))


def test_a_shoot_keeps_its_type_under_a_new_quota_that_forbids_it_and_cannot_grow(
    world: World,
) -> None:
    world.put(a_shoot(machines=2))
    strict = builders.a_quota(name="strict", scope="project", metrics={"cpu": "80"})
    strict["spec"]["machineTypes"] = ["large"]
    world.put(strict)

    world.put(builders.a_binding(quotas=["secret", "strict"]))

    with pytest.raises(
        StatusError, match=r"quota garden-trial/strict: .*machineType.*\"small\".*\"large\""
    ):
        world.put(a_shoot(machines=3))
    world.put(a_shoot(machines=1))
    usage = world.get("garden.sapcloud.io/quotausages/garden-dev/garden-trial.strict")
    assert usage["status"]["used"] == {"cpu": "2"}


def test_a_metric_added_to_a_quota_counts_what_exists(world: World) -> None:
    world.put(a_shoot(machines=3))
    quota = world.get(SECRET)
    quota["spec"]["metrics"] = {"machines": "3", "shoots": "5"}

    world.put(quota)

    assert world.get(SECRET)["status"]["used"] == {"machines": "3", "shoots": "1"}
    assert world.get(SECRET_USAGE)["status"]["used"] == {"machines": "3", "shoots": "1"}
    with pytest.raises(StatusError, match="exceeded quota: secret, requested: machines=1"):
        world.put(a_shoot("more"))


def _with_hard(world: World, key: str, metrics: dict[str, str]) -> Object:
    quota = world.get(key)
    quota["spec"]["metrics"] = metrics
    return quota
