"""What quotas leave inside a cluster."""

from admission.metering.remainder import remainder, resource_quota

STANDARD = "standard.storageclass.storage.k8s.io/requests.storage"
PREMIUM = "premium.storageclass.storage.k8s.io/requests.storage"
CHARGE = {"cpu": "4", "loadbalancer": "2", "storage.standard": "30Gi", "shoots": "1"}


def test_a_shoots_own_disks_and_load_balancers_are_taken_off() -> None:
    left = remainder([{"loadbalancer": "10", "storage.standard": "100Gi", "cpu": "8"}], CHARGE)

    assert left == {"services.loadbalancers": "8", STANDARD: "70Gi"}


def test_twins_mean_the_same() -> None:
    left = remainder([{"loadbalancers": "10", "disk.standard": "100Gi"}], CHARGE)

    assert left == {"services.loadbalancers": "8", STANDARD: "70Gi"}


def test_nothing_is_taken_off_what_is_for_claims_only() -> None:
    assert remainder([{"pvc.standard": "50Gi"}], CHARGE) == {STANDARD: "50Gi"}


def test_the_least_of_all_quotas_and_metrics_counts() -> None:
    quotas = [
        {"storage.standard": "100Gi", "pvc.premium": "5Gi"},
        {"pvc.standard": "90Gi", "storage.premium": "4Gi", "loadbalancer": "7"},
        {"loadbalancer": "3"},
    ]

    assert remainder(quotas, CHARGE) == {
        PREMIUM: "4Gi",
        "services.loadbalancers": "1",
        STANDARD: "70Gi",
    }


def test_what_is_overdrawn_leaves_nothing() -> None:
    left = remainder([{"loadbalancer": "1", "storage.standard": "10Gi"}], CHARGE)

    assert left == {"services.loadbalancers": "0", STANDARD: "0"}


def test_no_part_of_a_load_balancer_can_be_had() -> None:
    assert remainder([{"loadbalancer": "4500m"}], CHARGE) == {"services.loadbalancers": "2"}


def test_without_quotas_nothing_is_limited() -> None:
    assert remainder([], CHARGE) == {}


def test_a_class_that_no_storage_class_can_have_is_left_out() -> None:
    assert remainder([{"storage.Fast_SSD": "1Gi", "pvc.Fast": "1Gi"}], CHARGE) == {}


def test_the_object_can_be_applied_in_any_namespace_of_the_cluster() -> None:
    assert resource_quota("shoot", {"services.loadbalancers": "1"}) == {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "shoot"},
        "spec": {"hard": {"services.loadbalancers": "1"}},
    }
