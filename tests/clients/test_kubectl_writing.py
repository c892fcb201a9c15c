"""kubectl's commands that write, one object at a time."""

import copy

import pytest

from apis.meta.codec import encode
from apis.meta.transaction import Object
from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker, an_object
from tests.clients.kubectl import Kubectl, script

pytestmark = [pytest.mark.integration, pytest.mark.kubectl, pytest.mark.slow]

TEAM = "quota.garden.sapcloud.io/team"
SHOOT = "shoot.garden.sapcloud.io/shoot"
OPENAPI_V3_MINOR = 29


@pytest.fixture
def team(namespace) -> Object:
    return a_quota(name="team", namespace=namespace, metrics={"cpu": "4", "memory": "8Gi"})


def with_cpu(quota: Object, cpu: str) -> Object:
    changed = copy.deepcopy(quota)
    changed["spec"]["metrics"]["cpu"] = cpu
    return changed


def cpu_of(kubectl: Kubectl) -> str:
    return kubectl.output("get", "squota", "team", "-o", "jsonpath={.spec.metrics.cpu}")


def test_create(kubectl, team) -> None:
    assert kubectl.output("create", "-f", "-", objects=[team]) == f"{TEAM} created\n"
    assert cpu_of(kubectl) == "4"


def test_create_of_what_exists_says_so(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])

    said = kubectl.complaint("create", "-f", "-", objects=[team])

    assert "Error from server (AlreadyExists)" in said
    assert 'quotas.garden.sapcloud.io "team" already exists' in said


def test_create_as_a_dry_run_stores_nothing(kubectl, team) -> None:
    shown = kubectl.output("create", "--dry-run=server", "-f", "-", objects=[team])

    assert shown == f"{TEAM} created (server dry run)\n"
    assert "not found" in kubectl.complaint("get", "squota", "team")


def test_a_dry_run_is_judged(kubectl, team) -> None:
    team["spec"]["scope"] = "galaxy"

    said = kubectl.complaint(
        "create", "--dry-run=server", "--validate=false", "-f", "-", objects=[team]
    )

    assert 'The Quota "team" is invalid: spec.scope: Unsupported value: "galaxy"' in said


def test_every_fault_of_a_manifest_is_listed(kubectl, team) -> None:
    team["spec"] = {"scope": "galaxy", "clusterLifetimeDays": 0, "metrics": {"cpus": "-1"}}

    said = kubectl.complaint("create", "--validate=false", "-f", "-", objects=[team])

    assert said.count("* spec.") == 3


def test_an_unknown_field_is_refused(kubectl, team) -> None:
    team["spec"]["nope"] = 1

    said = kubectl.complaint("create", "-f", "-", objects=[team])

    assert "unknown field" in said
    assert "nope" in said


def test_a_field_that_is_almost_a_counted_one_is_refused_or_told(kubectl, namespace) -> None:
    """kubectl asks for strict validation by itself."""
    profile = a_profile(name=f"slip-{namespace}")
    profile["spec"]["aws"]["constraints"]["machineTypes"][0]["gpus"] = "8"

    refused = kubectl.complaint("apply", "-f", "-", objects=[profile])
    told = kubectl("apply", "--validate=warn", "-f", "-", objects=[profile])

    slip = 'unknown field "spec.aws.constraints.machineTypes[0].gpus"'
    assert slip in refused
    assert 'did you mean "gpu"?' in refused
    assert told.returncode == 0
    assert f"Warning: {slip}" in told.stderr


def test_a_quota_that_limits_nothing_is_told_so(kubectl, namespace) -> None:
    empty = a_quota(name="empty", namespace=namespace)
    empty["spec"]["metrics"] = {}

    told = kubectl("create", "-f", "-", objects=[empty])

    assert told.returncode == 0
    assert "Warning: spec.metrics: is empty: clusters are limited by nothing" in told.stderr


def test_a_generated_name_is_printed(kubectl, team) -> None:
    team["metadata"].pop("name")
    team["metadata"]["generateName"] = "team-"

    shown = kubectl.output("create", "-f", "-", objects=[team])

    assert shown.startswith("quota.garden.sapcloud.io/team-")
    assert shown.endswith(" created\n")


def test_apply_creates_leaves_alone_and_configures(kubectl, team) -> None:
    first = kubectl.output("apply", "-f", "-", objects=[team])
    again = kubectl.output("apply", "-f", "-", objects=[team])
    changed = kubectl.output("apply", "-f", "-", objects=[with_cpu(team, "6")])

    assert [first, again, changed] == [
        f"{TEAM} created\n",
        f"{TEAM} unchanged\n",
        f"{TEAM} configured\n",
    ]
    assert cpu_of(kubectl) == "6"


def test_apply_removes_what_it_applied_and_keeps_what_others_set(kubectl, team) -> None:
    kubectl.output("apply", "-f", "-", objects=[team])
    kubectl.output("annotate", "squota", "team", "others=stay")
    del team["spec"]["metrics"]["memory"]

    kubectl.output("apply", "-f", "-", objects=[team])

    found = kubectl.get("squota", "team")
    assert found["spec"]["metrics"] == {"cpu": "4"}
    assert found["metadata"]["annotations"]["others"] == "stay"


def test_apply_changes_one_item_of_a_list(kubectl, namespace) -> None:
    profile = a_profile(name=f"sky-{namespace}")
    kubectl.output("apply", "-f", "-", objects=[profile])
    machines = profile["spec"]["aws"]["constraints"]["machineTypes"]
    machines[1]["memory"] = "17Gi"
    del machines[0]

    kubectl.output("apply", "-f", "-", objects=[profile])

    found = kubectl.get("cpfl", f"sky-{namespace}")
    stored = found["spec"]["aws"]["constraints"]["machineTypes"]
    assert [(machine["name"], machine["memory"]) for machine in stored] == [
        (machine["name"], machine["memory"]) for machine in machines
    ]


@pytest.fixture
def applied(kubectl: Kubectl, namespace: str) -> Object:
    """A shoot, with fields beside the schema, that `kubectl apply` has made."""
    if kubectl.minor < OPENAPI_V3_MINOR:
        pytest.skip(f"kubectl computes patches by OpenAPI version 3 from 1.{OPENAPI_V3_MINOR} on")
    workers = [a_worker(name="one"), a_worker(name="two")]
    workers[0]["labels"] = {"team": "a"}
    shoot = a_shoot(namespace=namespace, profile=f"sky-{namespace}", workers=workers)
    shoot["spec"]["cloud"]["aws"]["networks"] = {"internal": ["10.250.112.0/22"]}
    quota = a_quota(namespace=namespace)
    binding = a_binding(namespace=namespace, quotas=["quota"], quota_namespace=namespace)
    before = [a_profile(name=f"sky-{namespace}"), quota, binding]
    kubectl.output("create", "-f", "-", objects=before)
    kubectl.output("apply", "-f", "-", objects=[shoot])
    return shoot


def test_apply_of_an_unchanged_shoot_is_quiet(kubectl, applied) -> None:
    done = kubectl("apply", "-f", "-", objects=[applied])

    assert (done.stdout, done.stderr) == (f"{SHOOT} unchanged\n", "")


def test_apply_keeps_what_others_set_in_a_worker_group(kubectl, applied) -> None:
    others = {"name": "one", "maxSurge": 3, "taints": [{"key": "gpu"}]}
    theirs = {"spec": {"cloud": {"aws": {"workers": [others]}}}}
    kubectl.output("patch", SHOOT, "--type=strategic", "-p", encode(theirs).decode())
    workers = applied["spec"]["cloud"]["aws"]["workers"]
    workers[0]["autoScalerMax"] = 2
    del workers[1]

    done = kubectl("apply", "-f", "-", objects=[applied])

    [found] = kubectl.get("shoot", "shoot")["spec"]["cloud"]["aws"]["workers"]
    assert (done.stdout, done.stderr) == (f"{SHOOT} configured\n", "")
    assert {key: found[key] for key in (*others, "autoScalerMax", "labels")} == {
        **others,
        "autoScalerMax": 2,
        "labels": {"team": "a"},
    }


def test_apply_changes_fields_beside_the_schema(kubectl, applied) -> None:
    networks = {"internal": ["10.0.0.0/8"], "services": "10.1.0.0/16"}
    applied["spec"]["cloud"]["aws"]["networks"] = networks

    shown = kubectl.output("apply", "-f", "-", objects=[applied])

    found = kubectl.get("shoot", "shoot")
    assert shown == f"{SHOOT} configured\n"
    assert found["spec"]["cloud"]["aws"]["networks"] == networks


def test_apply_as_a_dry_run_says_what_would_be(kubectl, team) -> None:
    kubectl.output("apply", "-f", "-", objects=[team])

    shown = kubectl.output("apply", "--dry-run=server", "-f", "-", objects=[with_cpu(team, "6")])

    assert shown == f"{TEAM} configured (server dry run)\n"
    assert cpu_of(kubectl) == "4"


def test_diff_shows_what_apply_would_change(kubectl, team) -> None:
    kubectl.output("apply", "-f", "-", objects=[team])

    done = kubectl("diff", "-f", "-", objects=[with_cpu(team, "6")])

    assert done.returncode == 1
    assert '-    cpu: "4"\n+    cpu: "6"\n' in done.stdout
    assert kubectl.output("diff", "-f", "-", objects=[team]) == ""


def test_edit_stores_what_the_editor_left(kubectl, team, tmp_path) -> None:
    kubectl.output("create", "-f", "-", objects=[team])
    editor = script(tmp_path / "editor", "sed -i 's/cpu: .*/cpu: \"9\"/'")

    done = kubectl("edit", "squota", "team", editor=editor)

    assert (done.returncode, done.stdout) == (0, f"{TEAM} edited\n"), done.stderr
    assert cpu_of(kubectl) == "9"


def test_edit_without_a_change_writes_nothing(kubectl, team, tmp_path) -> None:
    kubectl.output("create", "-f", "-", objects=[team])

    done = kubectl("edit", "squota", "team", editor=script(tmp_path / "editor", "true"))

    assert "Edit cancelled, no changes made." in done.stdout + done.stderr


def test_edit_shows_why_the_server_refuses(kubectl, team, tmp_path) -> None:
    kubectl.output("create", "-f", "-", objects=[team])
    seen = tmp_path / "seen"
    spoil = f"cp \"$1\" {seen}; sed -i 's/scope: .*/scope: galaxy/'"

    done = kubectl("edit", "squota", "team", editor=script(tmp_path / "editor", spoil))

    # The editor is opened again, with the reason on top; left as it is, the edit is given up.
    assert done.returncode == 1
    assert 'quotas.garden.sapcloud.io "team" is invalid' in done.stderr
    assert '# * spec.scope: Unsupported value: "galaxy"' in seen.read_text()


def test_replace(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])

    shown = kubectl.output("replace", "-f", "-", objects=[with_cpu(team, "5")])

    assert shown == f"{TEAM} replaced\n"
    assert cpu_of(kubectl) == "5"


def test_replace_of_a_stale_object_is_a_conflict(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])
    stale = kubectl.get("squota", "team")
    kubectl.output("label", "squota", "team", "moved=on")

    said = kubectl.complaint("replace", "-f", "-", objects=[stale])

    assert "Error from server (Conflict)" in said
    assert "the object has been modified" in said


def test_replace_of_what_is_not_there_says_so(kubectl, team) -> None:
    said = kubectl.complaint("replace", "-f", "-", objects=[team])

    assert 'quotas.garden.sapcloud.io "team" not found' in said


def test_replace_by_force_makes_a_new_object(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])
    uid = kubectl.get("squota", "team")["metadata"]["uid"]

    shown = kubectl.output("replace", "--force", "-f", "-", objects=[with_cpu(team, "5")])

    assert 'quota.garden.sapcloud.io "team" deleted' in shown
    assert f"{TEAM} replaced\n" in shown
    assert kubectl.get("squota", "team")["metadata"]["uid"] != uid


PATCHES = {
    "merge": '{"spec":{"metrics":{"cpu":"11","memory":null}}}',
    "json": '[{"op":"test","path":"/spec/metrics/cpu","value":"4"},'
    '{"op":"replace","path":"/spec/metrics/cpu","value":"11"},'
    '{"op":"remove","path":"/spec/metrics/memory"}]',
    "strategic": '{"spec":{"metrics":{"$patch":"replace","cpu":"11"}}}',
}


@pytest.mark.parametrize("type_", PATCHES)
def test_patch(kubectl, team, type_) -> None:
    kubectl.output("create", "-f", "-", objects=[team])

    shown = kubectl.output("patch", "squota", "team", f"--type={type_}", "-p", PATCHES[type_])

    assert shown == f"{TEAM} patched\n"
    assert kubectl.get("squota", "team")["spec"]["metrics"] == {"cpu": "11"}


def test_patch_without_a_difference_says_so(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])

    patch = '{"spec":{"metrics":{"cpu":"4"}}}'
    shown = kubectl.output("patch", "squota", "team", "--type=merge", "-p", patch)

    assert shown == f"{TEAM} patched (no change)\n"


def test_a_json_patch_whose_test_fails_changes_nothing(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])
    patch = PATCHES["json"].replace('"4"', '"5"')

    kubectl.complaint("patch", "squota", "team", "--type=json", "-p", patch)

    assert cpu_of(kubectl) == "4"


def test_patch_of_a_status(kubectl, team) -> None:
    if kubectl.minor < 24:
        pytest.skip("--subresource came with 1.24")
    kubectl.output("create", "-f", "-", objects=[team])
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "Looked",
        "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    patch = encode({"status": {"conditions": [condition]}, "spec": {"metrics": None}}).decode()

    kubectl.output("patch", "squota", "team", "--subresource=status", "--type=merge", "-p", patch)

    found = kubectl.get("squota", "team")
    assert found["status"]["conditions"][0]["type"] == "Ready"
    assert found["spec"]["metrics"]["cpu"] == "4"


def test_label_sets_overwrites_and_removes(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])

    assert kubectl.output("label", "squota", "team", "tier=1") == f"{TEAM} labeled\n"
    assert "--overwrite is false" in kubectl.complaint("label", "squota", "team", "tier=2")
    kubectl.output("label", "squota", "team", "tier=2", "--overwrite")
    assert kubectl.get("squota", "team")["metadata"]["labels"] == {"tier": "2"}
    kubectl.output("label", "squota", "team", "tier-")
    assert "labels" not in kubectl.get("squota", "team")["metadata"]


def test_annotate_sets_and_removes(kubectl, team) -> None:
    kubectl.output("create", "-f", "-", objects=[team])

    assert kubectl.output("annotate", "squota", "team", "note=hi") == f"{TEAM} annotated\n"
    assert kubectl.get("squota", "team")["metadata"]["annotations"] == {"note": "hi"}
    kubectl.output("annotate", "squota", "team", "note-")
    assert "annotations" not in kubectl.get("squota", "team")["metadata"]


def test_what_exceeds_a_quota_is_told_in_full(kubectl, namespace) -> None:
    kubectl.output(
        "create",
        "-f",
        "-",
        objects=[
            a_profile(name=f"sky-{namespace}"),
            a_quota(name="total", namespace=namespace, metrics={"cpu": "3"}),
            a_binding(namespace=namespace, quotas=["total"], quota_namespace=namespace),
        ],
    )
    large = a_shoot(
        name="large",
        namespace=namespace,
        profile=f"sky-{namespace}",
        workers=[a_worker(machine="large")],
    )

    said = kubectl.complaint("apply", "-f", "-", objects=[large])

    assert "Error from server (Forbidden)" in said
    assert "exceeded quota: total, requested: cpu=4, used: cpu=0, limited: cpu=3" in said


def test_what_only_the_server_writes_is_refused(kubectl, namespace) -> None:
    usage = an_object("QuotaUsage", name="mine", namespace=namespace)

    said = kubectl.complaint("create", "--validate=false", "-f", "-", objects=[usage])

    assert "MethodNotAllowed" in said
