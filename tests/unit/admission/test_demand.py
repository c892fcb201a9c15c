from admission.metering.charges import forbidden_machine_types, is_reduction, same_demand
from tests.admission_examples import a_shoot, a_worker


def test_demand_is_the_same_whatever_else_of_a_worker_changes() -> None:
    old = a_shoot(a_worker("a"), a_worker("b", machineType="p2.xlarge"))
    new = a_shoot(
        a_worker("b", machineType="p2.xlarge", labels={"x": "y"}), a_worker("a", autoScalerMin=0)
    )
    assert same_demand(new, old)


def test_demand_is_the_same_when_a_pool_is_renamed() -> None:
    assert same_demand(a_shoot(a_worker("new")), a_shoot(a_worker("old")))


def test_demand_is_the_same_when_a_size_is_written_otherwise() -> None:
    old, new = a_shoot(a_worker()), a_shoot(a_worker(volumeSize="20480Mi"))
    assert same_demand(new, old)


def test_demand_differs_by_machines_types_volumes_and_the_addon() -> None:
    old = a_shoot(a_worker())
    assert not same_demand(a_shoot(a_worker(autoScalerMax=3)), old)
    assert not same_demand(a_shoot(a_worker(machineType="m4.xlarge")), old)
    assert not same_demand(a_shoot(a_worker(volumeType="io1")), old)
    assert not same_demand(a_shoot(a_worker(volumeSize="30Gi")), old)
    assert not same_demand(a_shoot(a_worker(), nginx=True), old)


def test_an_empty_pool_of_another_type_is_another_demand() -> None:
    old = a_shoot(a_worker())
    assert not same_demand(
        a_shoot(a_worker(), a_worker("b", machineType="x", autoScalerMax=0)), old
    )


def test_fewer_machines_and_smaller_disks_are_a_reduction() -> None:
    old = a_shoot(a_worker(autoScalerMax=4), a_worker("b"))
    assert is_reduction(a_shoot(a_worker(autoScalerMax=2, volumeSize="10Gi")), old)


def test_nothing_changed_is_a_reduction() -> None:
    assert is_reduction(a_shoot(a_worker()), a_shoot(a_worker()))


def test_a_renamed_pool_that_shrinks_is_a_reduction() -> None:
    old = a_shoot(a_worker("old", autoScalerMax=4))
    assert is_reduction(a_shoot(a_worker("new", autoScalerMax=3)), old)


def test_growth_anywhere_is_no_reduction() -> None:
    old = a_shoot(a_worker(autoScalerMax=4), a_worker("b", machineType="p2.xlarge"))
    fewer = a_worker(autoScalerMax=1)
    assert not is_reduction(
        a_shoot(fewer, a_worker("b", machineType="p2.xlarge", autoScalerMax=3)), old
    )
    assert not is_reduction(a_shoot(fewer, nginx=True), old)
    assert not is_reduction(a_shoot(a_worker(autoScalerMax=1, volumeSize="200Gi")), old)


def test_a_type_that_was_not_there_is_no_reduction() -> None:
    old = a_shoot(a_worker(autoScalerMax=4))
    assert not is_reduction(a_shoot(a_worker(machineType="m4.xlarge", autoScalerMax=1)), old)
    assert not is_reduction(a_shoot(a_worker(machineType="m4.xlarge", autoScalerMax=0)), old)


def test_machine_types_off_the_list_are_named_by_field() -> None:
    shoot = a_shoot(a_worker(), a_worker("b", machineType="p2.xlarge"))
    assert [str(error) for error in forbidden_machine_types(shoot, None, {"m4.large"})] == [
        'spec.cloud.aws.workers[1].machineType: Unsupported value: "p2.xlarge": '
        'supported values: "m4.large"'
    ]


def test_a_pool_off_the_list_may_stay_and_shrink() -> None:
    old = a_shoot(a_worker(autoScalerMax=4))
    assert not forbidden_machine_types(a_shoot(a_worker(autoScalerMax=4)), old, {"other"})
    assert not forbidden_machine_types(a_shoot(a_worker(autoScalerMax=3)), old, {"other"})


def test_a_pool_off_the_list_may_not_grow_or_be_renamed() -> None:
    old = a_shoot(a_worker(autoScalerMax=4))
    assert forbidden_machine_types(a_shoot(a_worker(autoScalerMax=5)), old, {"other"})
    assert forbidden_machine_types(a_shoot(a_worker("new", autoScalerMax=1)), old, {"other"})


def test_an_empty_list_allows_no_type() -> None:
    assert forbidden_machine_types(a_shoot(a_worker()), None, ())
