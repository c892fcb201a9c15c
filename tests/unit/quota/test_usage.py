import pytest

from admission.quota.usage import add, difference, encode, exceeded, limits_of, refusal, shown

NANO = 10**9


def test_reaching_a_limit_exactly_passes() -> None:
    limits = limits_of({"cpu": "20"})

    assert exceeded(limits, {"cpu": 18 * NANO}, {"cpu": 2 * NANO}) == []


def test_one_nano_above_a_limit_is_refused() -> None:
    limits = limits_of({"cpu": "20"})

    assert exceeded(limits, {"cpu": 18 * NANO}, {"cpu": 2 * NANO + 1}) == list(limits)


def test_shrinking_a_metric_that_is_over_its_limit_passes() -> None:
    limits = limits_of({"cpu": "1", "memory": "1Gi"})

    assert exceeded(limits, {"cpu": 9 * NANO, "memory": 9 * 2**30 * NANO}, {"cpu": -NANO}) == []


def test_a_metric_that_the_quota_does_not_name_is_unlimited() -> None:
    assert exceeded(limits_of({"cpu": "1"}), {}, {"memory": 10**30}) == []


def test_a_refusal_names_every_exceeded_metric_under_the_quotas_names() -> None:
    limits = limits_of({"cpus": "20", "memory": "8Gi", "loadbalancers": "1"})
    used = {"cpu": 18 * NANO, "memory": 4 * 2**30 * NANO}
    delta = {"cpu": 4 * NANO, "memory": 8 * 2**30 * NANO, "loadbalancer": NANO}

    text = refusal("trial", exceeded(limits, used, delta), used, delta)

    assert text == (
        "exceeded quota: trial, requested: cpus=4,memory=8Gi, "
        "used: cpus=18,memory=4Gi, limited: cpus=20,memory=8Gi"
    )


def test_a_ledger_that_would_fall_below_zero_is_an_error() -> None:
    with pytest.raises(ValueError, match="below zero"):
        add({"cpu": NANO}, {"cpu": -2 * NANO})


def test_difference_leaves_out_what_stays_and_negates_what_goes() -> None:
    delta = difference({"cpu": 4, "memory": 1}, {"cpu": 4, "memory": 3, "gpu": 2})

    assert delta == {"memory": -2, "gpu": -2}


def test_used_shows_the_metrics_that_the_quota_names_and_no_others() -> None:
    used = {"cpu": 3 * NANO // 2, "gpu": NANO}

    assert shown(limits_of({"cpus": "2", "memory": "1Gi"}), used) == {
        "cpus": "1500m",
        "memory": "0",
    }


def test_encoded_charges_are_canonical_and_leave_out_zero() -> None:
    assert encode({"memory": 2**30 * NANO, "cpu": 0, "machines": 2 * NANO}) == {
        "machines": "2",
        "memory": "1Gi",
    }
