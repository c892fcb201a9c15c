"""kubectl's delete, prune and wait, and what it asks about rights."""

import pytest

from apis.meta.transaction import Object
from tests.builders import a_binding, a_profile, a_quota
from tests.harness.server import GROUP_PATH

pytestmark = [pytest.mark.integration, pytest.mark.kubectl, pytest.mark.slow]

TEAM = "quota.garden.sapcloud.io/team"
DELETED = 'quota.garden.sapcloud.io "team" deleted'

READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Looked",
    "message": "",
    "lastTransitionTime": "2024-01-01T00:00:00Z",
}


@pytest.fixture
def team(kubectl, namespace) -> Object:
    quota = a_quota(name="team", namespace=namespace)
    kubectl.output("create", "-f", "-", objects=[quota])
    return quota


def is_there(kubectl, name: str = "team") -> bool:
    return bool(kubectl.output("get", "squota", name, "--ignore-not-found", "-o", "name"))


@pytest.mark.parametrize("cascade", ["foreground", "background", "orphan"])
def test_delete(kubectl, team, cascade) -> None:
    shown = kubectl.output("delete", "squota", "team", f"--cascade={cascade}")

    assert shown.startswith(DELETED)
    assert not is_there(kubectl)


def test_delete_by_file_by_label_and_all(kubectl, team, namespace) -> None:
    others = [a_quota(name=name, namespace=namespace) for name in ("one", "two")]
    others[0]["metadata"]["labels"] = {"tier": "1"}
    kubectl.output("create", "-f", "-", objects=others)

    assert kubectl.output("delete", "-f", "-", objects=[team]).startswith(DELETED)
    assert '"one" deleted' in kubectl.output("delete", "squota", "-l", "tier=1")
    assert '"two" deleted' in kubectl.output("delete", "squota", "--all")
    assert kubectl.output("delete", "squota", "team", "--ignore-not-found") == ""


def test_delete_of_what_is_not_there_says_so(kubectl) -> None:
    said = kubectl.complaint("delete", "squota", "team")

    assert said == 'Error from server (NotFound): quotas.garden.sapcloud.io "team" not found\n'


def test_delete_as_a_dry_run_deletes_nothing(kubectl, team) -> None:
    shown = kubectl.output("delete", "squota", "team", "--dry-run=server")

    assert shown.startswith(DELETED)
    assert "(server dry run)" in shown
    assert is_there(kubectl)


def test_delete_says_who_still_refers_to_it(kubectl, team, namespace) -> None:
    binding = a_binding(namespace=namespace, quotas=["team"], quota_namespace=namespace)
    kubectl.output("create", "-f", "-", objects=[binding])

    said = kubectl.complaint("delete", "squota", "team")

    assert "Error from server (Conflict)" in said
    assert f"{namespace}/binding" in said
    assert is_there(kubectl)


def test_delete_waits_for_finalizers(kubectl, team) -> None:
    held = '{"metadata":{"finalizers":["example.com/hold"]}}'
    kubectl.output("patch", "squota", "team", "--type=merge", "-p", held)

    shown = kubectl.output("delete", "squota", "team", "--wait=false")
    with kubectl.following("wait", "squota", "team", "--for=delete", "--timeout=50s") as lines:
        assert is_there(kubectl)
        freed = '[{"op":"remove","path":"/metadata/finalizers"}]'
        kubectl.output("patch", "squota", "team", "--type=json", "-p", freed)
        ended = lines.next()

    assert shown.startswith(DELETED)
    assert ended == f"{TEAM} condition met"
    assert not is_there(kubectl)


def test_wait_for_a_condition(kubectl, team, server, namespace) -> None:
    with kubectl.following("wait", "squota", "team", "--for=condition=Ready") as lines:
        answer = server.request(
            "PATCH",
            f"{GROUP_PATH}/namespaces/{namespace}/quotas/team/status",
            {"status": {"conditions": [READY]}},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        assert answer.status_code == 200, answer.text
        assert lines.next() == f"{TEAM} condition met"


def test_wait_gives_up_in_time(kubectl, team) -> None:
    said = kubectl.complaint("wait", "squota", "team", "--for=condition=Ready", "--timeout=1s")

    assert said == "error: timed out waiting for the condition on quotas/team\n"


def test_wait_for_a_value(kubectl, team) -> None:
    if kubectl.minor < 23:
        pytest.skip("--for=jsonpath came with 1.23")

    shown = kubectl.output("wait", "squota", "team", "--for=jsonpath={.spec.scope}=secret")

    assert shown == f"{TEAM} condition met\n"


def test_apply_prunes_what_is_no_longer_applied(kubectl, namespace) -> None:
    label = f"stage={namespace}"
    quotas = [a_quota(name=name, namespace=namespace) for name in ("kept", "dropped")]
    for quota in quotas:
        quota["metadata"]["labels"] = {"stage": namespace}
    flag = "--prune-allowlist" if kubectl.minor >= 26 else "--prune-whitelist"
    prune = ("--prune", "-l", label, f"{flag}=garden.sapcloud.io/v1beta1/Quota")
    kubectl.output("apply", "-f", "-", "-l", label, objects=quotas)
    kubectl.output("create", "-f", "-", objects=[a_quota(name="others", namespace=namespace)])

    shown = kubectl.output("apply", "-f", "-", *prune, objects=quotas[:1])

    assert "quota.garden.sapcloud.io/dropped pruned" in shown
    left = kubectl.output("get", "squota", "-o", "name").split()
    assert [name.partition("/")[2] for name in left] == ["kept", "others"]


def test_prune_reaches_what_has_no_namespace(kubectl, namespace) -> None:
    label = f"stage={namespace}"
    profiles = [a_profile(name=f"{name}-{namespace}") for name in ("kept", "dropped")]
    for profile in profiles:
        profile["metadata"]["labels"] = {"stage": namespace}
    flag = "--prune-allowlist" if kubectl.minor >= 26 else "--prune-whitelist"
    prune = ("--prune", "-l", label, f"{flag}=garden.sapcloud.io/v1beta1/CloudProfile")
    kubectl.output("apply", "-f", "-", "-l", label, objects=profiles)

    shown = kubectl.output("apply", "-f", "-", *prune, objects=profiles[:1])

    assert f"cloudprofile.garden.sapcloud.io/dropped-{namespace} pruned" in shown
    assert kubectl.output("get", "cpfl", "-l", label, "-o", "name").split() == [
        f"cloudprofile.garden.sapcloud.io/kept-{namespace}"
    ]


@pytest.mark.parametrize(
    "asked",
    [
        ("create", "shoots"),
        ("update", "quotas", "--subresource=status"),
        ("get", "cpfl/aws"),
        ("get", "/metrics"),
    ],
    ids=" ".join,
)
def test_who_is_somebody_may_do_everything(kubectl, asked) -> None:
    assert kubectl.output("auth", "can-i", *asked) == "yes\n"


def test_rights_are_listed(kubectl) -> None:
    shown = [line.split() for line in kubectl.output("auth", "can-i", "--list").splitlines()]

    assert ["*.*", "[]", "[]", "[*]"] in shown


def test_whoami(kubectl) -> None:
    if kubectl.minor < 28:
        pytest.skip("the question came with 1.28")

    shown = kubectl.output("auth", "whoami")

    assert ["Username", "admin"] in [line.split() for line in shown.splitlines()]
