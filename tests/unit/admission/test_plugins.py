"""The plugins on objects as the registry hands them over; the rules have tests of their own."""

import dataclasses
from datetime import timedelta

import pytest

from admission.chain import Chain
from admission.plugins.created_by import CREATED_BY, CreatedBy
from admission.plugins.lifetime import Lifetime
from admission.plugins.lookups import Phase
from admission.plugins.namespace_lifecycle import NamespaceLifecycle
from admission.plugins.references import ReferenceManager
from admission.plugins.shoot_limit_range import ShootLimitRange
from apis.garden.v1beta1.shoot import EXPIRATION
from apis.meta.errors import StatusError
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Object
from tests.admission_examples import (
    NAMESPACE,
    NOW,
    World,
    a_binding,
    a_profile,
    a_quota,
    a_range,
    a_shoot,
    a_worker,
    creating,
    updating,
)

LATEST = "2019-04-15T12:00:00Z"


@pytest.fixture
def world() -> World:
    return World()


def annotations_of(attributes: Attributes) -> dict[str, str]:
    assert attributes.obj is not None
    found: dict[str, str] = attributes.obj["metadata"].get("annotations", {})
    return found


def deleting(obj: Object) -> Object:
    metadata = {**obj["metadata"], "deletionTimestamp": "2019-04-02T00:00:00Z"}
    return {**obj, "metadata": metadata}


# The chain


class Saying:
    def __init__(self, said: list[str], name: str, refusal: StatusError | None = None) -> None:
        self.said, self.name, self.refusal = said, name, refusal

    async def admit(self, attributes: Attributes) -> None:
        self.said.append(self.name)
        if self.refusal:
            raise self.refusal

    validate = admit


async def test_plugins_run_in_their_order() -> None:
    said: list[str] = []
    chain = Chain([Saying(said, "a"), Saying(said, "b")], [Saying(said, "c")])
    await chain.mutate(creating(a_shoot()))
    await chain.validate(creating(a_shoot()))
    assert said == ["a", "b", "c"]


async def test_the_first_refusal_ends_the_chain() -> None:
    said: list[str] = []
    refusal = StatusError(403, "Forbidden", "no")
    chain = Chain(validating=[Saying(said, "a", refusal), Saying(said, "b")])
    with pytest.raises(StatusError, match="no"):
        await chain.validate(creating(a_shoot()))
    assert said == ["a"]


# CreatedBy


async def test_a_new_shoot_names_its_author_whatever_it_says() -> None:
    attributes = creating(a_shoot(annotations={CREATED_BY: "somebody", "x": "y"}))
    await CreatedBy().admit(attributes)
    assert annotations_of(attributes) == {CREATED_BY: "mia", "x": "y"}


@pytest.mark.parametrize("given", [None, {CREATED_BY: "eve"}])
async def test_the_author_of_a_shoot_never_changes(given: dict[str, str] | None) -> None:
    old = a_shoot(annotations={CREATED_BY: "mia"})
    attributes = updating(a_shoot(annotations=given), old, user=UserInfo("eve"))
    await CreatedBy().admit(attributes)
    assert annotations_of(attributes) == {CREATED_BY: "mia"}


async def test_a_shoot_without_an_author_gets_none_later() -> None:
    attributes = updating(a_shoot(annotations={CREATED_BY: "eve", "x": "y"}), a_shoot())
    await CreatedBy().admit(attributes)
    assert annotations_of(attributes) == {"x": "y"}


async def test_no_empty_annotations_are_left_behind() -> None:
    attributes = updating(a_shoot(annotations={CREATED_BY: "eve"}), a_shoot())
    await CreatedBy().admit(attributes)
    assert attributes.obj == a_shoot()


async def test_only_shoots_name_an_author() -> None:
    attributes = creating(a_binding())
    await CreatedBy().admit(attributes)
    assert annotations_of(attributes) == {}


# Lifetime


def lending(world: World) -> Lifetime:
    return Lifetime(world, world, lambda: NOW + timedelta(days=365))


async def test_a_new_shoot_gets_the_time_at_which_it_expires(world: World) -> None:
    world.quotas = [a_quota("a", days=30), a_quota("b", days=14)]
    attributes = creating(a_shoot())
    await lending(world).admit(attributes)
    assert annotations_of(attributes) == {EXPIRATION: LATEST}


async def test_an_expiration_beyond_the_lifetime_is_a_422_at_the_annotation(world: World) -> None:
    world.quotas = [a_quota("a", days=14)]
    attributes = creating(a_shoot(annotations={EXPIRATION: "2019-05-01T00:00:00Z"}))
    with pytest.raises(StatusError) as caught:
        await lending(world).admit(attributes)
    assert caught.value.code == 422
    assert caught.value.message == (
        'Shoot.garden.sapcloud.io "demo" is invalid: '
        "metadata.annotations[shoot.garden.sapcloud.io/expirationTimestamp]: "
        'Invalid value: "2019-05-01T00:00:00Z": must not be later than 2019-04-15T12:00:00Z, '
        "the creation plus 14 days (clusterLifetimeDays of quota garden-trial/a), "
        "unless set by who may update this quota"
    )


async def test_an_update_without_the_expiration_keeps_it(world: World) -> None:
    world.quotas = [a_quota("a", days=14)]
    attributes = updating(a_shoot(), a_shoot(annotations={EXPIRATION: LATEST}))
    await lending(world).admit(attributes)
    assert annotations_of(attributes) == {EXPIRATION: LATEST}


async def test_the_clock_extends_no_life(world: World) -> None:
    """A year after the creation the latest expiration is what it was on the first day."""
    world.quotas = [a_quota("a", days=14)]
    old = a_shoot(annotations={EXPIRATION: "2019-04-02T00:00:00Z"})
    await lending(world).admit(updating(a_shoot(annotations={EXPIRATION: LATEST}), old))
    later = a_shoot(annotations={EXPIRATION: "2019-04-15T12:00:01Z"})
    with pytest.raises(StatusError, match="must not be later than 2019-04-15T12:00:00Z"):
        await lending(world).admit(updating(later, old))


@pytest.mark.parametrize("old", [None, a_shoot(annotations={EXPIRATION: LATEST})])
async def test_who_sponsors_every_quota_that_is_exceeded_may_extend(
    world: World, old: Object | None
) -> None:
    world.quotas = [a_quota("a", days=14), a_quota("b", days=30), a_quota("c")]

    async def extend(until: str) -> None:
        shoot = a_shoot(annotations={EXPIRATION: until})
        await lending(world).admit(updating(shoot, old) if old else creating(shoot))

    world.sponsors = {("mia", "garden-trial/a")}
    await extend("2019-05-01T12:00:00Z")
    assert world.asked == ["update quotas garden-trial/a"]
    with pytest.raises(StatusError, match="of quota garden-trial/b"):
        await extend("2019-05-01T12:00:01Z")
    world.sponsors |= {("mia", "garden-trial/b")}
    await extend("2099-05-01T12:00:01Z")


async def test_rights_are_asked_for_only_beyond_the_lifetime(world: World) -> None:
    world.quotas = [a_quota("a", days=14)]
    await lending(world).admit(creating(a_shoot(annotations={EXPIRATION: LATEST})))
    late = a_shoot(annotations={EXPIRATION: "2099-01-01T00:00:00Z"})
    await lending(world).admit(updating({**late, "spec": {}}, late))
    assert world.asked == []


async def test_where_rights_cannot_be_asked_for_nothing_is_extended(world: World) -> None:
    class Nobody:
        async def may(self, *_question: object) -> bool:
            raise StatusError(503, "ServiceUnavailable", "cannot be asked")

    world.quotas = [a_quota("a", days=14)]
    late = a_shoot(annotations={EXPIRATION: "2099-01-01T00:00:00Z"})
    with pytest.raises(StatusError, match="cannot be asked"):
        await Lifetime(world, Nobody(), lambda: NOW).admit(creating(late))


async def test_the_expiration_of_a_terminating_shoot_is_not_judged(world: World) -> None:
    world.quotas = [a_quota("a", days=14)]
    old = deleting(a_shoot(annotations={EXPIRATION: LATEST}))
    attributes = updating(deleting(a_shoot(annotations={EXPIRATION: "garbage"})), old)
    await lending(world).admit(attributes)


# ShootLimitRange


def limited(world: World) -> ShootLimitRange:
    return ShootLimitRange(world, world, world)


async def test_a_shoot_beyond_the_ranges_is_forbidden_with_all_violations(world: World) -> None:
    world.ranges = [
        a_range("a", {"type": "Worker", "max": {"cpu": "2"}}),
        a_range("b", {"type": "Shoot", "max": {"machines": "1"}}),
    ]
    with pytest.raises(StatusError) as caught:
        await limited(world).validate(creating(a_shoot(a_worker())))
    assert caught.value.code == 403
    assert caught.value.message == (
        'shoots.garden.sapcloud.io "demo" is forbidden: '
        "[maximum cpu usage per Worker is 2, but limit is 4 (ShootLimitRange garden-dev/a), "
        "maximum machines usage per Shoot is 1, but limit is 2 (ShootLimitRange garden-dev/b)]"
    )


async def test_a_single_violation_stands_without_brackets(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "2"}})]
    with pytest.raises(StatusError, match="is forbidden: maximum cpu usage per Worker is 2, but"):
        await limited(world).validate(creating(a_shoot(a_worker())))


async def test_a_shoot_within_the_ranges_passes(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "4"}})]
    await limited(world).validate(creating(a_shoot(a_worker())))


async def test_an_update_that_keeps_the_demand_is_not_judged(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    old = a_shoot(a_worker())
    await limited(world).validate(updating(a_shoot(a_worker(labels={"a": "b"})), old))


async def test_an_update_that_raises_the_demand_is_judged(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    attributes = updating(a_shoot(a_worker(autoScalerMax=3)), a_shoot(a_worker()))
    with pytest.raises(StatusError, match="maximum cpu usage per Worker is 1, but limit is 6"):
        await limited(world).validate(attributes)


async def test_an_update_of_other_parts_passes_beside_a_worker_above_a_new_maximum(
    world: World,
) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"machines": "1"}})]
    large, small = a_worker(autoScalerMax=5), a_worker("second", autoScalerMax=1)
    old = a_shoot(large)
    for new in (
        a_shoot(large, nginx=True),
        a_shoot(small, large),
        a_shoot({**large, "name": "renamed"}, small),
        a_shoot(a_worker(autoScalerMax=4), small),
        a_shoot(a_worker(autoScalerMax=5, autoScalerMin=2)),
    ):
        await limited(world).validate(updating(new, old))
    for new in (a_shoot(large, a_worker("second", autoScalerMax=2)), a_shoot(a_worker("x"))):
        with pytest.raises(StatusError, match="maximum machines usage per Worker is 1, but"):
            await limited(world).validate(updating(new, old))


async def test_both_sides_of_an_update_are_at_the_same_prices(world: World) -> None:
    """What a machine type costs since it was admitted is no growth of the shoot."""
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    world.prices = {"machines": {"m4.large": {"cpu": "1", "gpu": "0", "memory": "1Gi"}}}
    new = a_shoot(a_worker(autoScalerMax=1), nginx=True)
    await limited(world).validate(updating(new, a_shoot(a_worker(autoScalerMax=1))))


async def test_an_update_from_a_type_that_has_no_price_is_judged_as_a_whole(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    attributes = updating(a_shoot(a_worker()), a_shoot(a_worker(machineType="gone")))
    with pytest.raises(StatusError, match="maximum cpu usage per Worker is 1, but limit is 4"):
        await limited(world).validate(attributes)


async def test_a_refusal_names_every_range_and_what_the_client_did_not_write(world: World) -> None:
    maximum = {"type": "Worker", "max": {"machines": "2"}}
    default = {"type": "Worker", "default": {"machines": "5"}}
    world.ranges = [a_range("a", maximum), a_range("b", maximum), a_range("c", default)]
    bare = a_worker("bare", autoScalerMin=None, autoScalerMax=None)
    attributes = creating(a_shoot(a_worker(autoScalerMax=2), bare))
    await limited(world).admit(attributes)
    with pytest.raises(StatusError) as caught:
        await limited(world).validate(attributes)
    assert caught.value.message == (
        'shoots.garden.sapcloud.io "demo" is forbidden: maximum machines usage per Worker is 2, '
        "but limit is 5 (ShootLimitRanges garden-dev/a, garden-dev/b); "
        "spec.cloud.aws.workers[1].autoScalerMax is the default of ShootLimitRange garden-dev/c; "
        "spec.cloud.aws.workers[1].autoScalerMin is the default of ShootLimitRange garden-dev/c"
    )


async def test_a_default_that_has_no_price_is_told_as_a_default(world: World) -> None:
    world.ranges = [
        a_range("a", {"type": "Worker", "max": {"cpu": "9"}}, defaultMachineType="unheard")
    ]
    attributes = creating(a_shoot(a_worker(machineType=None)))
    await limited(world).admit(attributes)
    with pytest.raises(StatusError) as caught:
        await limited(world).validate(attributes)
    assert caught.value.code == 422
    assert caught.value.message.endswith("; this is the default of ShootLimitRange garden-dev/a")


async def test_the_author_of_a_range_is_warned_of_contradictions(world: World) -> None:
    old = a_range("a", {"type": "Worker", "max": {"cpu": "9"}})
    new = a_range("a", {"type": "Worker", "max": {"cpu": "1"}})
    world.ranges = [a_range("b", {"type": "Worker", "min": {"cpu": "2"}}), old]
    warning = (
        "contradicts ShootLimitRange garden-dev/b: "
        "the other's min of cpu per Worker, 2, is greater than its max, 1"
    )
    for attributes, warnings in (
        (creating(new), [warning]),
        (updating(new, old), [warning]),
        (updating(new, new), []),
        (creating(old), []),
    ):
        await limited(world).validate(attributes)
        assert attributes.warnings == warnings


async def test_status_and_deletes_are_not_judged(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    old, new = a_shoot(a_worker()), a_shoot(a_worker(autoScalerMax=9))
    plugin = limited(world)
    await plugin.validate(updating(new, old, subresource="status"))
    gone = dataclasses.replace(updating(new, old), operation=Operation.DELETE, obj=None)
    await plugin.validate(gone)


async def test_growth_of_a_terminating_shoot_is_judged_and_nothing_else_of_it(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    old = deleting(a_shoot(a_worker()))
    for fields in ({"autoScalerMax": 1}, {"autoScalerMin": 0}, {"labels": {"a": "b"}}):
        await limited(world).validate(updating(deleting(a_shoot(a_worker(**fields))), old))
    with pytest.raises(StatusError, match="maximum cpu usage per Worker is 1, but limit is 6"):
        await limited(world).validate(updating(deleting(a_shoot(a_worker(autoScalerMax=3))), old))


async def test_a_refusal_tells_two_hundred_faults_at_most(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"machines": "1"}})]
    workers = [a_worker(f"w{i}", autoScalerMax=i + 2) for i in range(250)]
    with pytest.raises(StatusError) as caught:
        await limited(world).validate(creating(a_shoot(*workers)))
    assert caught.value.message.count("(ShootLimitRange garden-dev/a)") == 200
    assert caught.value.message.endswith(", and 50 more]")


async def test_an_unknown_type_is_a_422_where_ranges_need_its_price(world: World) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    with pytest.raises(StatusError, match=r"workers\[0\].machineType: Unsupported value") as caught:
        await limited(world).validate(creating(a_shoot(a_worker(machineType="x"))))
    assert caught.value.code == 422


async def test_a_type_off_the_profile_is_judged_by_the_price_it_was_admitted_under(
    world: World,
) -> None:
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "5"}})]
    world.prices = {"machines": {"gone": {"cpu": "3", "gpu": "0", "memory": "1Gi"}}}
    old = a_shoot(a_worker(machineType="gone", autoScalerMax=1))
    attributes = updating(a_shoot(a_worker(machineType="gone")), old)
    with pytest.raises(StatusError, match="maximum cpu usage per Worker is 5, but limit is 6"):
        await limited(world).validate(attributes)


async def test_defaults_come_from_ranges_and_classes_from_the_profile(world: World) -> None:
    limit = {"type": "Machine", "default": {"storage.standard": "30Gi"}}
    world.ranges = [a_range("a", limit, defaultMachineType="m4.large", defaultVolumeType="gp2")]
    attributes = creating(a_shoot(a_worker(machineType=None, volumeType=None, volumeSize=None)))
    await limited(world).admit(attributes)
    assert attributes.obj == a_shoot(a_worker(volumeSize="30Gi"))


async def test_a_terminating_shoot_gets_no_defaults(world: World) -> None:
    world.ranges = [a_range("a", defaultMachineType="m4.large")]
    shoot = deleting(a_shoot(a_worker(machineType=None)))
    attributes = updating(shoot, deleting(a_shoot(a_worker())))
    await limited(world).admit(attributes)
    assert attributes.obj == deleting(a_shoot(a_worker(machineType=None)))


async def test_a_changed_range_counts_at_once(world: World) -> None:
    plugin = limited(world)
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "100"}})]
    await plugin.validate(creating(a_shoot(a_worker())))
    world.ranges = [a_range("a", {"type": "Worker", "max": {"cpu": "1"}})]
    with pytest.raises(StatusError):
        await plugin.validate(creating(a_shoot(a_worker())))


# NamespaceLifecycle


async def test_a_missing_namespace_is_not_found(world: World) -> None:
    world.phases[NAMESPACE] = None
    with pytest.raises(StatusError) as caught:
        await NamespaceLifecycle(world).validate(creating(a_shoot()))
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'namespaces "garden-dev" not found',
        "reason": "NotFound",
        "details": {"name": "garden-dev", "kind": "namespaces"},
        "code": 404,
    }


async def test_nothing_is_created_in_a_terminating_namespace(world: World) -> None:
    world.phases[NAMESPACE] = Phase.TERMINATING
    with pytest.raises(StatusError) as caught:
        await NamespaceLifecycle(world).validate(creating(a_shoot()))
    assert caught.value.code == 403
    assert caught.value.message == (
        'shoots.garden.sapcloud.io "demo" is forbidden: unable to create new content in '
        "namespace garden-dev because it is being terminated"
    )
    assert caught.value.details == {
        "name": "demo",
        "group": "garden.sapcloud.io",
        "kind": "shoots",
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": "namespace garden-dev is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }


async def test_objects_of_a_terminating_namespace_can_be_updated(world: World) -> None:
    world.phases[NAMESPACE] = Phase.TERMINATING
    await NamespaceLifecycle(world).validate(updating(a_shoot(), a_shoot()))


async def test_objects_of_a_missing_namespace_can_be_deleted(world: World) -> None:
    world.phases[NAMESPACE] = None
    attributes = updating(a_shoot(), a_shoot())
    gone = dataclasses.replace(attributes, operation=Operation.DELETE, obj=None)
    await NamespaceLifecycle(world).validate(gone)


async def test_where_namespaces_are_unknown_they_are_not_checked(world: World) -> None:
    world.phases[NAMESPACE] = Phase.UNKNOWN
    await NamespaceLifecycle(world).validate(creating(a_shoot()))


async def test_cluster_scoped_objects_have_no_namespace_to_check(world: World) -> None:
    world.phases[""] = None
    await NamespaceLifecycle(world).validate(creating(a_profile()))


# ReferenceManager


def referring(world: World) -> ReferenceManager:
    return ReferenceManager(world, world)


@pytest.mark.parametrize("kind", ["SecretBinding", "CrossSecretBinding", "PrivateSecretBinding"])
async def test_a_secret_that_its_author_may_not_read_is_not_bound(world: World, kind: str) -> None:
    world.unreadable = {("secrets", NAMESPACE, "core")}
    with pytest.raises(StatusError) as caught:
        await referring(world).validate(creating(a_binding(kind)))
    assert caught.value.code == 403
    assert caught.value.message.endswith(
        "SecretBinding cannot reference a secret you are not allowed to read"
    )
    assert not any(question.startswith("exists") for question in world.asked)


async def test_a_quota_that_its_author_may_not_read_is_not_bound(world: World) -> None:
    world.unreadable = {("quotas", "garden-trial", "b")}
    binding = a_binding(quotas=["garden-trial/a", "garden-trial/b"])
    with pytest.raises(StatusError, match="cannot reference a quota you are not allowed to read"):
        await referring(world).validate(creating(binding))


async def test_a_secret_that_does_not_exist_is_a_422(world: World) -> None:
    world.missing_secrets = {(NAMESPACE, "core")}
    with pytest.raises(StatusError, match=r'secretRef\.name: Not found: "core"') as caught:
        await referring(world).validate(creating(a_binding()))
    assert caught.value.code == 422
    assert caught.value.message.endswith(
        f': there is no Secret of this name in namespace "{NAMESPACE}"'
    )


async def test_only_changed_references_are_checked(world: World) -> None:
    world.missing_secrets = {(NAMESPACE, "core")}
    old = a_binding(quotas=["garden-trial/a"])
    await referring(world).validate(updating(a_binding(quotas=["garden-trial/a", "b"]), old))
    assert world.asked == [f"get quotas {NAMESPACE}/b"]


async def test_a_shoot_s_profile_must_exist(world: World) -> None:
    world.profiles = {}
    with pytest.raises(StatusError, match=r'spec\.cloud\.profile: Not found: "aws"') as caught:
        await referring(world).validate(creating(a_shoot(a_worker())))
    assert caught.value.code == 422
    assert caught.value.message.endswith(": there is no CloudProfile of this name")


async def test_a_shoot_s_profile_must_be_of_its_provider(world: World) -> None:
    world.profiles = {"aws": a_profile("packet")}
    with pytest.raises(StatusError, match="the profile has no aws section"):
        await referring(world).validate(creating(a_shoot(a_worker())))


async def test_a_shoot_outlives_its_profile(world: World) -> None:
    world.profiles = {}
    await referring(world).validate(updating(a_shoot(a_worker()), a_shoot(a_worker())))


async def test_a_shoot_with_its_profile_in_place_passes(world: World) -> None:
    await referring(world).validate(creating(a_shoot(a_worker())))
