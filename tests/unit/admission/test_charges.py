import pytest

from admission.metering.charges import Unpriceable, requests_and_limits
from admission.metering.evaluators import EVALUATORS, UNCHARGED
from apis.garden.v1beta1.metrics import METRICS
from apis.meta.transaction import Object
from tests.admission_examples import a_profile, a_shoot, a_worker, charge_by, record_of


def faults(shoot: Object, profile: Object | None, prices: Object | None = None) -> list[str]:
    with pytest.raises(Unpriceable) as caught:
        charge_by(shoot, profile, prices)
    return [str(error) for error in caught.value.errors]


def test_every_metric_is_counted_at_the_maximum_of_machines() -> None:
    charged = charge_by(a_shoot(a_worker(autoScalerMin=1, autoScalerMax=3)), a_profile())
    assert charged.charge == {
        "cpu": "6",
        "memory": "24Gi",
        "storage.standard": "60Gi",
        "loadbalancer": "1",
        "machines": "3",
        "shoots": "1",
    }


def test_every_worker_counts() -> None:
    shoot = a_shoot(a_worker("a", autoScalerMax=1), a_worker("b", machineType="p2.xlarge"))
    assert charge_by(shoot, a_profile()).charge == {
        "cpu": "10",
        "gpu": "2",
        "memory": "130Gi",
        "storage.standard": "60Gi",
        "loadbalancer": "1",
        "machines": "3",
        "shoots": "1",
    }


def test_what_is_zero_is_left_out() -> None:
    assert "gpu" not in charge_by(a_shoot(a_worker()), a_profile()).charge


def test_the_nginx_addon_has_a_load_balancer_of_its_own() -> None:
    assert charge_by(a_shoot(a_worker(), nginx=True), a_profile()).charge["loadbalancer"] == "2"


def test_no_addons_at_all_need_one_load_balancer() -> None:
    shoot = a_shoot(a_worker())
    del shoot["spec"]["addons"]
    assert charge_by(shoot, a_profile()).charge["loadbalancer"] == "1"


def test_fractions_are_exact() -> None:
    types = [{"name": "tiny", "cpu": "333m", "gpu": "0", "memory": "7500Mi"}]
    volumes = [{"name": "gp2", "class": "standard"}]
    section = {"constraints": {"machineTypes": types, "volumeTypes": volumes}}
    shoot = a_shoot(a_worker(machineType="tiny", autoScalerMax=3))
    charged = charge_by(shoot, a_profile(section=section)).charge
    assert (charged["cpu"], charged["memory"]) == ("999m", "22500Mi")


def test_ten_million_machines_cost_one_multiplication() -> None:
    charged = charge_by(a_shoot(a_worker(autoScalerMax=10**7)), a_profile()).charge
    assert (charged["cpu"], charged["machines"]) == ("20M", "10M")


def test_an_openstack_machine_brings_its_own_volume() -> None:
    worker = {"name": "w", "machineType": "medium_2_4", "autoScalerMin": 2, "autoScalerMax": 2}
    charged = charge_by(a_shoot(worker, provider="openstack"), a_profile("openstack"))
    assert charged.charge == {
        "cpu": "4",
        "memory": "8Gi",
        "storage.default": "40Gi",
        "loadbalancer": "1",
        "machines": "2",
        "shoots": "1",
    }


def test_a_volume_may_be_named_by_its_class() -> None:
    worker = a_worker(machineType="c1.small", volumeType="standard", volumeSize="30Gi")
    charged = charge_by(a_shoot(worker, provider="packet"), a_profile("packet"))
    assert charged.charge["storage.standard"] == "60Gi"


def test_a_volume_type_s_name_comes_before_a_class_of_that_name() -> None:
    volumes = [{"name": "fast", "class": "slow"}, {"name": "slow", "class": "other"}]
    types = [{"name": "m4.large", "cpu": "2", "gpu": "0", "memory": "8Gi"}]
    section = {"constraints": {"machineTypes": types, "volumeTypes": volumes}}
    charged = charge_by(a_shoot(a_worker(volumeType="slow")), a_profile(section=section)).charge
    assert "storage.other" in charged


def test_a_local_shoot_is_a_shoot_with_a_load_balancer() -> None:
    charged = charge_by(a_shoot(provider="local"), a_profile("local"))
    assert charged.charge == {"loadbalancer": "1", "shoots": "1"}
    assert charged.prices == {}


def test_workers_without_types_count_as_machines_where_there_are_no_types() -> None:
    worker = {"name": "w", "autoScalerMin": 1, "autoScalerMax": 4}
    charged = charge_by(a_shoot(worker, provider="vagrant"), a_profile("vagrant")).charge
    assert charged == {"loadbalancer": "1", "machines": "4", "shoots": "1"}


def test_all_unknown_types_are_named_at_once() -> None:
    shoot = a_shoot(a_worker(machineType="huge", volumeType="tape"), a_worker("b", volumeType="x"))
    assert faults(shoot, a_profile()) == [
        'spec.cloud.aws.workers[0].machineType: Unsupported value: "huge": '
        'supported values: "m4.large", "m4.xlarge", "p2.xlarge"',
        'spec.cloud.aws.workers[0].volumeType: Unsupported value: "tape": supported values: "gp2"',
        'spec.cloud.aws.workers[1].volumeType: Unsupported value: "x": supported values: "gp2"',
    ]


def test_missing_types_and_sizes_are_required() -> None:
    shoot = a_shoot(a_worker(machineType=None, volumeType=None, volumeSize=None))
    assert faults(shoot, a_profile()) == [
        "spec.cloud.aws.workers[0].machineType: Required value",
        "spec.cloud.aws.workers[0].volumeSize: Required value",
        "spec.cloud.aws.workers[0].volumeType: Required value",
    ]


@pytest.mark.parametrize("field", ["machineType", "volumeType"])
def test_a_type_that_is_not_usable_is_refused_for_new_use(field: str) -> None:
    unusable = {"machineType": "m4.16xlarge", "volumeType": "io1"}[field]
    assert faults(a_shoot(a_worker(**{field: unusable})), a_profile())[0].startswith(
        f'spec.cloud.aws.workers[0].{field}: Unsupported value: "{unusable}"'
    )


def test_a_type_that_is_not_usable_is_priced_for_a_shoot_that_has_it() -> None:
    prices = {
        "machines": {"m4.16xlarge": {"cpu": "1", "gpu": "0", "memory": "1Gi"}},
        "volumes": {"io1": "old"},
    }
    shoot = a_shoot(a_worker(machineType="m4.16xlarge", volumeType="io1"))
    charged = charge_by(shoot, a_profile(), prices).charge
    assert (charged["cpu"], charged["storage.premium"]) == ("128", "40Gi")


def test_a_class_may_be_named_while_one_of_its_types_is_usable() -> None:
    volumes = [
        {"name": "old", "class": "standard", "usable": False},
        {"name": "new", "class": "standard", "usable": True},
    ]
    section = {"constraints": {**a_profile()["spec"]["aws"]["constraints"], "volumeTypes": volumes}}
    shoot = a_shoot(a_worker(volumeType="standard"))
    assert charge_by(shoot, a_profile(section=section)).charge["storage.standard"] == "40Gi"


def test_a_type_that_the_profile_lists_no_more_keeps_the_price_it_was_admitted_under() -> None:
    admitted = charge_by(a_shoot(a_worker()), a_profile())
    empty = a_profile(section={"constraints": {}})
    grown = a_shoot(a_worker(autoScalerMax=5))
    charged = charge_by(grown, empty, admitted.prices)
    assert charged.charge["cpu"] == "10"
    assert charged.prices == admitted.prices


def test_a_shoot_whose_profile_is_gone_is_charged_by_its_own_prices() -> None:
    admitted = charge_by(a_shoot(a_worker()), a_profile())
    assert charge_by(a_shoot(a_worker()), None, admitted.prices).charge == admitted.charge


def test_an_openstack_volume_is_kept_with_the_price() -> None:
    worker = {"name": "w", "machineType": "medium_2_4", "autoScalerMin": 2, "autoScalerMax": 2}
    shoot = a_shoot(worker, provider="openstack")
    admitted = charge_by(shoot, a_profile("openstack"))
    assert charge_by(shoot, None, admitted.prices).charge == admitted.charge


def test_the_current_price_counts_where_the_profile_has_one() -> None:
    prices = {"machines": {"m4.large": {"cpu": "99", "gpu": "0", "memory": "1Gi"}}}
    assert charge_by(a_shoot(a_worker()), a_profile(), prices).charge["cpu"] == "4"


def test_prices_hold_what_was_used_and_no_more() -> None:
    assert charge_by(a_shoot(a_worker()), a_profile()).prices == {
        "machines": {"m4.large": {"cpu": "2", "gpu": "0", "memory": "8Gi"}},
        "volumes": {"gp2": "standard"},
    }


def test_a_profile_of_another_provider_prices_nothing() -> None:
    assert faults(a_shoot(a_worker()), a_profile("packet")) == [
        'spec.cloud.profile: Invalid value: "aws": the profile has no aws section'
    ]


def test_a_changed_profile_is_read_anew() -> None:
    dear = a_profile()
    dear["spec"] = {"aws": {"constraints": dict(dear["spec"]["aws"]["constraints"])}}
    dear["spec"]["aws"]["constraints"]["machineTypes"] = [
        {"name": "m4.large", "cpu": "3", "gpu": "0", "memory": "8Gi"}
    ]
    shoot = a_shoot(a_worker())
    assert charge_by(shoot, a_profile()).charge["cpu"] == "4"
    assert charge_by(shoot, dear).charge["cpu"] == "6"


def test_every_metric_is_evaluated_or_declared_as_uncharged() -> None:
    assert {e.metric for e in EVALUATORS} | UNCHARGED == {metric.name for metric in METRICS}


def test_requests_are_at_the_minimum_and_limits_at_the_maximum_of_machines() -> None:
    shoot = a_shoot(a_worker(autoScalerMin=1, autoScalerMax=3), a_worker("b", autoScalerMin=0))
    usage = requests_and_limits(shoot, record_of(a_profile()))
    nanos = 10**9
    first, second = usage.workers
    assert (first.requests["cpu"], first.limits["cpu"]) == (2 * nanos, 6 * nanos)
    assert (second.requests["cpu"], second.limits["cpu"]) == (0, 4 * nanos)
    assert (usage.shoot.requests["cpu"], usage.shoot.limits["cpu"]) == (2 * nanos, 10 * nanos)
    assert usage.machines[0].requests["cpu"] == usage.machines[0].limits["cpu"] == 2 * nanos
    assert usage.shoot.limits["loadbalancer"] == nanos
    assert "loadbalancer" not in first.limits
