"""Shoot: what quotas count is checked, the rest is kept."""

from copy import deepcopy
from typing import Any

import pytest

from apis.garden.v1beta1.register import SHOOT
from apis.garden.v1beta1.workers import PROVIDERS, provider_of, workers_of
from apis.meta.transaction import Header, Object
from tests.builders import a_shoot, a_worker
from tests.settled import faults, settle


def with_cloud(**changes: Any) -> Object:
    shoot = a_shoot()
    shoot["spec"]["cloud"] |= changes
    return shoot


def with_worker(**changes: Any) -> Object:
    """A shoot whose one worker has these fields; None takes a field away."""
    worker = {k: v for k, v in (a_worker() | changes).items() if v is not None}
    return a_shoot(workers=[worker])


def test_a_cluster_runs_on_some_provider() -> None:
    shoot = a_shoot()
    del shoot["spec"]["cloud"]["aws"]

    [fault] = faults(shoot)

    assert fault.startswith("spec.cloud: Required value: exactly one of alicloud, aws, azure, ")


def test_a_cluster_runs_on_one_provider_only() -> None:
    [fault] = faults(with_cloud(local={}))

    assert fault.startswith("spec.cloud.local: Forbidden: aws is given already: exactly one of ")


def test_a_null_provider_is_none() -> None:
    assert faults(with_cloud(gcp=None)) == []


def test_a_cluster_stays_on_its_provider() -> None:
    moved = a_shoot()
    cloud = moved["spec"]["cloud"]
    cloud["gcp"] = cloud.pop("aws")

    assert faults(moved, a_shoot()) == [
        "spec.cloud.gcp: Forbidden: the provider is aws and is immutable"
    ]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"profile": "other"}, "spec.cloud.profile"),
        ({"region": "other"}, "spec.cloud.region"),
        ({"secretBindingRef": {"name": "other"}}, "spec.cloud.secretBindingRef"),
        (
            {"secretBindingRef": {"name": "binding", "kind": "SecretBinding"}},
            "spec.cloud.secretBindingRef",
        ),
    ],
)
def test_profile_region_and_binding_are_immutable(changes: Object, field: str) -> None:
    [fault] = faults(with_cloud(**changes), a_shoot())

    assert fault.startswith(f"{field}: Invalid value: ")
    assert fault.endswith("field is immutable")


def test_a_binding_without_a_kind_is_a_secret_binding() -> None:
    shoot = settle(with_cloud(secretBindingRef={"name": "b"}))

    assert shoot["spec"]["cloud"]["secretBindingRef"] == {"name": "b", "kind": "SecretBinding"}


def test_a_binding_is_of_one_of_three_kinds() -> None:
    assert faults(with_cloud(secretBindingRef={"name": "b", "kind": "Secret"})) == [
        'spec.cloud.secretBindingRef.kind: Unsupported value: "Secret": supported values: '
        '"CrossSecretBinding", "PrivateSecretBinding", "SecretBinding"'
    ]


def test_workers_and_kubernetes_get_their_defaults() -> None:
    spec = settle(a_shoot())["spec"]
    worker = spec["cloud"]["aws"]["workers"][0]

    assert (worker["maxSurge"], worker["maxUnavailable"]) == (1, 0)
    assert spec["kubernetes"]["allowPrivilegedContainers"] is True


@pytest.mark.parametrize("surge", [0, 5, "25%", "100%"])
def test_a_surge_is_a_number_or_a_percentage(surge: object) -> None:
    assert faults(with_worker(maxSurge=surge)) == []


@pytest.mark.parametrize("surge", [-1, "101%", "x", True, 1.5])
def test_another_surge_is_refused(surge: object) -> None:
    assert len(faults(with_worker(maxSurge=surge))) == 1


@pytest.mark.parametrize(
    "field",
    ["name", "machineType", "volumeType", "volumeSize", "autoScalerMin", "autoScalerMax"],
)
def test_a_worker_has_everything_that_it_is_charged_by(field: str) -> None:
    assert faults(with_worker(**{field: None})) == [
        f"spec.cloud.aws.workers[0].{field}: Required value"
    ]


@pytest.mark.parametrize("size", ["20", "20GiB", "0Gi", "-1Gi", "1.5Gi", "1Ti", "", "x", "20Gi\n"])
def test_a_volume_size_is_a_number_of_gi(size: str) -> None:
    [fault] = faults(with_worker(volumeSize=size))

    assert fault.startswith("spec.cloud.aws.workers[0].volumeSize: Invalid value: ")


def test_a_volume_size_is_kept_as_it_was_written() -> None:
    shoot = settle(with_worker(volumeSize="1024Gi"))

    assert shoot["spec"]["cloud"]["aws"]["workers"][0]["volumeSize"] == "1024Gi"


@pytest.mark.parametrize(
    ("least", "most", "fields"),
    [
        (0, 0, []),
        (1, 2**31 - 1, []),
        (2, 1, ["autoScalerMax"]),
        (-1, 1, ["autoScalerMin"]),
        (0, 2**31, ["autoScalerMax"]),
        ("1", 1, ["autoScalerMin"]),
        (True, 1, ["autoScalerMin"]),
        (1, 1.5, ["autoScalerMax"]),
    ],
)
def test_a_worker_scales_between_sane_bounds(least: Any, most: Any, fields: list[str]) -> None:
    found = faults(with_worker(autoScalerMin=least, autoScalerMax=most))

    assert [fault.split(":")[0].rpartition(".")[2] for fault in found] == fields


def test_worker_names_are_unique() -> None:
    assert faults(a_shoot(workers=[a_worker(), a_worker()])) == [
        'spec.cloud.aws.workers[1]: Duplicate value: {"name":"worker"}'
    ]


def test_zones_are_a_set() -> None:
    shoot = a_shoot()
    shoot["spec"]["cloud"]["aws"]["zones"] = ["a", "a"]

    assert faults(shoot) == ['spec.cloud.aws.zones[1]: Duplicate value: "a"']


@pytest.mark.parametrize("provider", PROVIDERS)
def test_machines_are_required_except_where_a_cluster_runs_on_the_spot(provider: str) -> None:
    shoot = a_shoot()
    del shoot["spec"]["cloud"]["aws"]
    shoot["spec"]["cloud"][provider] = {}

    expected = (
        []
        if provider in ("local", "vagrant")
        else [f"spec.cloud.{provider}.workers: Required value"]
    )
    assert faults(shoot) == expected


def test_an_openstack_worker_has_no_volume_of_its_own() -> None:
    worker = {k: v for k, v in a_worker().items() if not k.startswith("volume")}
    shoot = a_shoot()
    del shoot["spec"]["cloud"]["aws"]
    shoot["spec"]["cloud"]["openstack"] = {"workers": [worker]}

    assert faults(shoot) == []


def test_a_version_of_kubernetes_is_required() -> None:
    shoot = a_shoot()
    shoot["spec"]["kubernetes"] = {}

    assert faults(shoot) == ["spec.kubernetes.version: Required value"]


def test_the_addon_that_is_charged_is_switched_by_a_boolean() -> None:
    shoot = a_shoot()
    shoot["spec"]["addons"] = {"nginx-ingress": {"enabled": "true"}}

    [fault] = faults(shoot)

    assert fault.startswith("spec.addons.nginx-ingress.enabled: ")


def test_what_does_not_concern_quotas_is_kept_as_it_came() -> None:
    extra = {"deep": [{"x": None}], "n": 1.0}
    shoot = with_worker(labels=extra)
    shoot["spec"]["own"] = extra
    shoot["spec"]["cloud"]["own"] = extra
    shoot["spec"]["cloud"]["aws"]["own"] = extra
    shoot["status"] = {"own": extra}
    before = deepcopy(shoot)

    settled = settle(shoot)

    for path in (
        ["spec", "own"],
        ["spec", "cloud", "own"],
        ["spec", "cloud", "aws", "own"],
        ["status"],
    ):
        found: Any = settled
        given: Any = before
        for step in path:
            found, given = found[step], given[step]
        assert found == given
    assert settled["spec"]["cloud"]["aws"]["workers"][0]["labels"] == extra


def test_a_row_shows_charge_and_expiry() -> None:
    shoot = a_shoot()
    shoot["metadata"]["annotations"] = {
        "shoot.garden.sapcloud.io/expirationTimestamp": "2030-01-01T00:00:00Z"
    }
    shoot["spec"]["dns"] = {"domain": "d.example.com"}
    shoot["status"] = {"lastOperation": {"state": "Processing", "progress": 70}}
    header = Header(charge={"memory": "8Gi", "cpu": "2", "shoots": "1"})

    assert {column.name: column.cell(shoot, header) for column in SHOOT.columns} == {
        "CloudProfile": "aws",
        "Version": "1.14.0",
        "Binding": "binding",
        "Charge": "cpu: 2, memory: 8Gi",
        "Expires": "2030-01-01T00:00:00Z",
        "Seed": None,
        "Domain": "d.example.com",
        "Operation": "Processing",
        "Progress": "70%",
        "Age": None,
    }


def test_a_shoot_is_found_by_binding_and_profile() -> None:
    shoot = settle(a_shoot())

    assert {name: index(shoot) for name, index in SHOOT.indexes.items()} == {
        "binding": ("crosssecretbindings/garden-dev/binding",),
        "profile": ("aws",),
    }
    assert {name: read(shoot) for name, read in SHOOT.selectable_fields.items()} == {
        "spec.cloud.profile": "aws",
        "spec.cloud.secretBindingRef.name": "binding",
    }


def test_workers_are_given_with_their_paths() -> None:
    shoot = a_shoot(workers=[a_worker(name="a"), a_worker(name="b")])

    assert provider_of(shoot) == "aws"
    assert [(path, worker["name"]) for path, worker in workers_of(shoot)] == [
        ("spec.cloud.aws.workers[0]", "a"),
        ("spec.cloud.aws.workers[1]", "b"),
    ]


@pytest.mark.parametrize("cloud", [{}, {"aws": {}, "gcp": {}}, {"other": {}}, [], None])
def test_without_exactly_one_provider_there_is_none(cloud: object) -> None:
    assert provider_of({"spec": {"cloud": cloud}}) is None
