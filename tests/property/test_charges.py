"""What holds for every shoot and every price list."""

from hypothesis import given
from hypothesis import strategies as st

from admission.metering.charges import Usage, UsageByType, is_reduction, same_demand
from admission.metering.limits import violations
from admission.metering.ranges import parse_range
from apis.meta.quantity import nanos_of
from apis.meta.transaction import Object
from tests.admission_examples import charge_by

MACHINES = ("small", "large", "gpu")
VOLUMES = ("gp2", "io1")
amounts = st.integers(0, 10**12).map(lambda n: f"{n}m")


@st.composite
def profiles(draw: st.DrawFn) -> Object:
    machine_types = [
        {"name": name, "cpu": draw(amounts), "gpu": draw(amounts), "memory": draw(amounts)}
        for name in MACHINES
    ]
    volume_types = [
        {"name": name, "class": draw(st.sampled_from(("standard", "premium")))} for name in VOLUMES
    ]
    constraints = {"machineTypes": machine_types, "volumeTypes": volume_types}
    return {"metadata": {"name": "p"}, "spec": {"aws": {"constraints": constraints}}}


workers = st.fixed_dictionaries(
    {
        "name": st.just("w"),
        "machineType": st.sampled_from(MACHINES),
        "volumeType": st.sampled_from(VOLUMES),
        "volumeSize": st.integers(1, 4).map(lambda n: f"{n}Gi"),
        "autoScalerMin": st.just(0),
        "autoScalerMax": st.integers(0, 5),
    }
)
pools = st.lists(workers, max_size=4)


def a_shoot(workers: list[Object], *, nginx: bool = False) -> Object:
    cloud = {"profile": "p", "aws": {"workers": workers}}
    return {"spec": {"cloud": cloud, "addons": {"nginx-ingress": {"enabled": nginx}}}}


def charged(workers: list[Object], profile: Object, *, nginx: bool = False) -> dict[str, int]:
    found = charge_by(a_shoot(workers, nginx=nginx), profile).charge
    return {metric: nanos_of(text) for metric, text in found.items()}


def of_machines(charges: dict[str, int]) -> dict[str, int]:
    """Without what counts once for a shoot."""
    return {m: n for m, n in charges.items() if m not in ("shoots", "loadbalancer")}


@given(profiles(), pools, pools)
def test_a_charge_is_the_sum_of_its_workers(
    profile: Object, a: list[Object], b: list[Object]
) -> None:
    one, other = of_machines(charged(a, profile)), of_machines(charged(b, profile))
    total = {metric: one.get(metric, 0) + other.get(metric, 0) for metric in one | other}
    assert of_machines(charged(a + b, profile)) == total


@given(profiles(), workers, st.integers(1, 10**7))
def test_a_charge_is_linear_in_the_machines(profile: Object, worker: Object, n: int) -> None:
    one = of_machines(charged([{**worker, "autoScalerMax": 1}], profile))
    many = of_machines(charged([{**worker, "autoScalerMax": n}], profile))
    assert many == {metric: amount * n for metric, amount in one.items()}


@given(profiles(), pools, pools, st.booleans(), st.booleans())
def test_a_reduction_never_raises_a_charge(
    profile: Object, old: list[Object], new: list[Object], had: bool, has: bool
) -> None:
    if is_reduction(a_shoot(new, nginx=has), a_shoot(old, nginx=had)):
        before, after = charged(old, profile, nginx=had), charged(new, profile, nginx=has)
        assert all(amount <= before.get(metric, 0) for metric, amount in after.items())


@given(profiles(), pools, st.data())
def test_shrinking_pools_and_dropping_some_is_a_reduction(
    profile: Object, old: list[Object], data: st.DataObject
) -> None:
    kept = data.draw(st.lists(st.sampled_from(old), unique_by=id)) if old else []
    new = [
        {**worker, "autoScalerMax": data.draw(st.integers(0, worker["autoScalerMax"]))}
        for worker in kept
    ]
    assert is_reduction(a_shoot(new), a_shoot(old))
    before, after = charged(old, profile), charged(new, profile)
    assert all(amount <= before.get(metric, 0) for metric, amount in after.items())


@given(profiles(), pools, pools)
def test_the_same_demand_is_charged_the_same(
    profile: Object, a: list[Object], b: list[Object]
) -> None:
    if same_demand(a_shoot(a), a_shoot(b)):
        assert charged(a, profile) == charged(b, profile)


@given(profiles(), pools)
def test_the_prices_that_are_kept_charge_the_same(profile: Object, workers: list[Object]) -> None:
    shoot = a_shoot(workers)
    admitted = charge_by(shoot, profile)
    assert charge_by(shoot, None, admitted.prices) == admitted


@given(st.integers(1, 10**15), st.integers(0, 10**15), st.integers(10**9, 10**12))
def test_a_ratio_is_compared_exactly(request: int, limit: int, ratio: int) -> None:
    limits = [{"type": "Shoot", "maxLimitRequestRatio": {"cpu": f"{ratio}n"}}]
    allowed = parse_range({"metadata": {"namespace": "n", "name": "r"}, "spec": {"limits": limits}})
    usage = UsageByType(Usage({"cpu": request}, {"cpu": limit}), (), ())
    assert bool(violations([allowed], usage)) == (limit * 10**9 > request * ratio)


@given(st.integers(1, 10**12))
def test_one_and_a_half_is_not_rounded(request: int) -> None:
    limits = [{"type": "Shoot", "maxLimitRequestRatio": {"cpu": "1.5"}}]
    allowed = [
        parse_range({"metadata": {"namespace": "n", "name": "r"}, "spec": {"limits": limits}})
    ]
    most = request * 3 // 2
    for limit, refused in ((most, False), (most + 1, True)):
        usage = UsageByType(Usage({"cpu": request}, {"cpu": limit}), (), ())
        assert bool(violations(allowed, usage)) is refused
