"""`kubectl apply --server-side`: who manages which field."""

import copy

import pytest

from apis.meta.transaction import Object
from tests.builders import a_profile, a_quota
from tests.clients.kubectl import Kubectl

pytestmark = [pytest.mark.integration, pytest.mark.kubectl]

TEAM = "quota.garden.sapcloud.io/team"
APPLY = ("apply", "--server-side", "-f", "-")


@pytest.fixture
def team(namespace) -> Object:
    return a_quota(name="team", namespace=namespace, metrics={"cpu": "4", "memory": "8Gi"})


def with_metrics(quota: Object, **metrics: str) -> Object:
    changed = copy.deepcopy(quota)
    changed["spec"]["metrics"] = metrics
    return changed


def metrics_of(kubectl: Kubectl) -> Object:
    found: Object = kubectl.get("squota", "team")["spec"]["metrics"]
    return found


def managers(kubectl: Kubectl) -> dict[str, str]:
    """Manager -> how it came by its fields."""
    entries = kubectl.get("squota", "team")["metadata"]["managedFields"]
    return {entry["manager"]: entry["operation"] for entry in entries}


def test_apply_creates_and_says_who_applied(kubectl, team) -> None:
    shown = kubectl.output(*APPLY, objects=[team])

    assert shown == f"{TEAM} serverside-applied\n"
    assert managers(kubectl)["kubectl"] == "Apply"


def test_applying_the_same_again_keeps_the_version(kubectl, team) -> None:
    kubectl.output(*APPLY, objects=[team])
    before = kubectl.get("squota", "team")["metadata"]["resourceVersion"]

    kubectl.output(*APPLY, objects=[team])

    assert kubectl.get("squota", "team")["metadata"]["resourceVersion"] == before


def test_another_managers_field_is_a_conflict(kubectl, team) -> None:
    kubectl.output(*APPLY, "--field-manager=one", objects=[team])

    said = kubectl.complaint(
        *APPLY, "--field-manager=two", objects=[with_metrics(team, cpu="5", memory="8Gi")]
    )

    assert 'Apply failed with 1 conflict: conflict with "one"' in said
    assert ".spec.metrics.cpu" in said
    assert "--force-conflicts" in said
    assert metrics_of(kubectl)["cpu"] == "4"


def test_force_takes_a_field_over(kubectl, team) -> None:
    kubectl.output(*APPLY, "--field-manager=one", objects=[team])

    kubectl.output(
        *APPLY, "--field-manager=two", "--force-conflicts", objects=[with_metrics(team, cpu="5")]
    )

    assert metrics_of(kubectl) == {"cpu": "5", "memory": "8Gi"}
    # What one applies anew no longer has it, and it stays for two.
    kubectl.output(*APPLY, "--field-manager=one", objects=[with_metrics(team, memory="8Gi")])
    assert metrics_of(kubectl) == {"cpu": "5", "memory": "8Gi"}


def test_a_field_that_nobody_applies_any_more_goes(kubectl, team) -> None:
    kubectl.output(*APPLY, objects=[team])

    kubectl.output(*APPLY, objects=[with_metrics(team, cpu="4")])

    assert metrics_of(kubectl) == {"cpu": "4"}


def test_two_managers_agree_on_a_value(kubectl, team) -> None:
    kubectl.output(*APPLY, "--field-manager=one", objects=[team])

    kubectl.output(*APPLY, "--field-manager=two", objects=[team])

    assert managers(kubectl)["one"] == managers(kubectl)["two"] == "Apply"


def test_a_write_by_hand_takes_its_field(kubectl, team) -> None:
    kubectl.output(*APPLY, objects=[team])
    patch = '{"spec":{"metrics":{"cpu":"5"}}}'
    kubectl.output("patch", "squota", "team", "--type=merge", "-p", patch)

    said = kubectl.complaint(*APPLY, objects=[team])

    assert 'conflict with "kubectl-patch"' in said


def test_items_of_a_list_belong_to_different_managers(kubectl, namespace) -> None:
    name = f"sky-{namespace}"
    one, two = a_profile(name=name, volumes={}), a_profile(name=name, volumes={})
    constraints = one["spec"]["aws"]["constraints"]
    constraints["machineTypes"] = [
        machine for machine in constraints["machineTypes"] if machine["name"] == "small"
    ]
    others = two["spec"]["aws"]["constraints"]
    others["machineTypes"] = [
        machine for machine in others["machineTypes"] if machine["name"] == "large"
    ]
    del constraints["volumeTypes"], others["volumeTypes"]

    kubectl.output(*APPLY, "--field-manager=one", objects=[one])
    kubectl.output(*APPLY, "--field-manager=two", objects=[two])

    machines = kubectl.get("cpfl", name)["spec"]["aws"]["constraints"]["machineTypes"]
    assert [machine["name"] for machine in machines] == ["small", "large"]


def test_a_dry_run_stores_nothing(kubectl, team) -> None:
    shown = kubectl.output(*APPLY, "--dry-run=server", objects=[team])

    assert shown == f"{TEAM} serverside-applied (server dry run)\n"
    assert "not found" in kubectl.complaint("get", "squota", "team")


def test_diff_on_the_server(kubectl, team) -> None:
    kubectl.output(*APPLY, objects=[team])

    done = kubectl(
        "diff", "--server-side", "-f", "-", objects=[with_metrics(team, cpu="6", memory="8Gi")]
    )

    assert done.returncode == 1, done.stderr
    assert '-    cpu: "4"\n+    cpu: "6"\n' in done.stdout


def test_what_was_applied_by_the_client_goes_over_to_the_server(kubectl, team) -> None:
    kubectl.output("apply", "-f", "-", objects=[team])

    if kubectl.minor < 26:
        # Only newer ones hand over what kubectl-client-side-apply has.
        kubectl.output(*APPLY, "--force-conflicts", objects=[with_metrics(team, cpu="5")])
    else:
        kubectl.output(*APPLY, objects=[with_metrics(team, cpu="5")])

    assert metrics_of(kubectl)["cpu"] == "5"
