"""The group, as people and controllers of a real cluster meet it."""

import os
import subprocess
from itertools import count

import pytest

from apis.meta.codec import decode_json, encode_yaml
from tests.builders import a_quota, a_shoot
from tests.e2e.cluster import Object, RealCluster
from tests.e2e.conftest import quotaapi
from tests.e2e.people import a_core, refusal, wait_allowed
from tests.harness.server import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

WATCH_SECONDS = float(os.environ.get("E2E_WATCH_SECONDS", "300"))


def test_registering_again_changes_nothing(cluster) -> None:
    service = "v1beta1.garden.sapcloud.io"
    before = cluster.get("apiservice", service)["spec"]
    arguments = ["--external-name", "localhost", "--port", str(before["service"]["port"])]

    quotaapi(cluster, "register", *arguments)

    assert cluster.get("apiservice", service)["spec"] == before


def test_the_group_is_discovered_and_explained(cluster) -> None:
    names = cluster.kubectl("api-resources", "--api-group=garden.sapcloud.io", "-o", "name")
    explained = cluster.kubectl("explain", "quotas.spec.metrics").stdout.decode()

    assert b"shoots.garden.sapcloud.io" in names.stdout
    assert "GROUP:      garden.sapcloud.io" in explained


def test_the_clusters_openapi_has_our_kinds_and_still_its_own(cluster) -> None:
    def merged() -> bool:
        text = cluster.kubectl("get", "--raw", "/openapi/v2").stdout
        return b"/apis/garden.sapcloud.io/v1beta1/" in text and b"/apis/apps/v1/" in text

    cluster.wait(merged)


def test_the_manifests_are_accepted(cluster) -> None:
    cluster.kubectl("apply", "--dry-run=server", "-k", str(ROOT / "hack" / "deploy"))


def test_a_quota_is_charged_and_refuses_what_does_not_fit(cluster, namespace) -> None:
    cluster.apply(a_shoot(namespace=namespace))
    too_large = a_shoot(name="large", namespace=namespace)
    too_large["spec"]["cloud"]["aws"]["workers"][0]["autoScalerMax"] = 100

    refused = cluster.kubectl("create", "-f", "-", stdin=encode_yaml(too_large), check=False)

    used = cluster.get("quotas.garden.sapcloud.io", "quota", "-n", namespace)["status"]["used"]
    assert used == {"cpu": "2"}
    assert "exceeded quota: quota" in refusal(refused)


def test_server_side_apply_owns_its_fields(cluster, namespace) -> None:
    quota = a_quota(name="applied", namespace=namespace)
    arguments = ("apply", "--server-side", "--field-manager=one", "-f", "-")
    cluster.kubectl(*arguments, stdin=encode_yaml(quota))
    quota["spec"]["metrics"]["cpu"] = "30"
    other = cluster.kubectl(
        "apply", "--server-side", "--field-manager=two", "-f", "-",
        stdin=encode_yaml(quota), check=False,
    )  # fmt: skip
    cluster.kubectl(*arguments, stdin=encode_yaml(quota))

    found = cluster.get("quotas.garden.sapcloud.io", "applied", "-n", namespace)
    assert "conflict" in refusal(other)
    assert found["spec"]["metrics"] == {"cpu": "30"}


def test_an_owned_shoot_is_collected(cluster, namespace) -> None:
    cluster.apply(a_core("ConfigMap", "owner", namespace))
    uid = cluster.get("configmap", "owner", "-n", namespace)["metadata"]["uid"]
    shoot = a_shoot(namespace=namespace)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    shoot["metadata"]["ownerReferences"] = [owner]
    cluster.apply(shoot)

    cluster.kubectl("delete", "configmap", "owner", "-n", namespace)

    cluster.wait(lambda: not cluster.get("shoots", "-n", namespace)["items"])
    quota = cluster.get("quotas.garden.sapcloud.io", "quota", "-n", namespace)
    assert quota["status"]["used"] == {"cpu": "0"}


def test_a_foreground_deletion_ends(cluster, namespace) -> None:
    cluster.apply(a_shoot(namespace=namespace))

    cluster.kubectl("delete", "shoot", "shoot", "-n", namespace, "--cascade=foreground")

    assert cluster.get("shoots", "-n", namespace)["items"] == []


def test_deleting_a_namespace_empties_it(cluster, namespace) -> None:
    cluster.apply(a_shoot(namespace=namespace))

    cluster.kubectl("delete", "namespace", namespace, "--wait=false")

    cluster.wait(lambda: cluster.kubectl("get", "ns", namespace, check=False).returncode != 0)
    late = cluster.kubectl(
        "create",
        "-f",
        "-",
        stdin=encode_yaml(a_quota(name="late", namespace=namespace)),
        check=False,
    )
    assert f'namespaces "{namespace}" not found' in refusal(late)


def test_nothing_is_made_in_a_namespace_that_is_going_away(
    cluster: RealCluster, namespace: str
) -> None:
    held = a_core("ConfigMap", "held", namespace)
    held["metadata"]["finalizers"] = ["example.org/held"]
    cluster.apply(held)
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")
    # The namespace may be emptied of the first ones before the watch has told of its end.
    name = count()

    def answer() -> "subprocess.CompletedProcess[bytes]":
        late = a_quota(name=f"late-{next(name)}", namespace=namespace)
        return cluster.kubectl("create", "-f", "-", stdin=encode_yaml(late), check=False)

    while (done := answer()).returncode == 0:
        pass
    release = '{"metadata":{"finalizers":null}}'
    cluster.kubectl("patch", "configmap", "held", "-n", namespace, "--type=merge", "-p", release)

    assert "because it is being terminated" in refusal(done)


def test_impersonation_through_kube_apiserver_has_the_others_rights(cluster, namespace) -> None:
    allowed = cluster.kubectl("get", "shoots", "-n", namespace)
    as_nobody = cluster.kubectl("get", "shoots", "-n", namespace, "--as=nobody", check=False)

    assert allowed.returncode == 0
    assert 'User "nobody" cannot list resource "shoots"' in refusal(as_nobody)


def test_an_object_count_quota_of_the_cluster_counts_shoots(cluster, namespace) -> None:
    hard = {"count/shoots.garden.sapcloud.io": "5"}
    cluster.apply(a_core("ResourceQuota", "objects", namespace, spec={"hard": hard}))
    cluster.apply(a_shoot(namespace=namespace))

    def counted() -> bool:
        found = cluster.get("resourcequota", "objects", "-n", namespace)
        used: Object = found.get("status", {}).get("used", {})
        return used.get("count/shoots.garden.sapcloud.io") == "1"

    cluster.wait(counted)


def test_a_service_account_is_known_by_its_token_at_the_server_itself(
    cluster, server, namespace
) -> None:
    cluster.kubectl("create", "serviceaccount", "bot", "-n", namespace)
    cluster.kubectl("create", "rolebinding", "bot", "-n", namespace, "--clusterrole=view",
                    f"--serviceaccount={namespace}:bot")  # fmt: skip
    token = cluster.kubectl("create", "token", "bot", "-n", namespace).stdout.decode().strip()
    who = cluster.kubeconfig(f"bot-{namespace}", token=token)
    wait_allowed(cluster, who, "list", "shoots.garden.sapcloud.io", "-n", namespace)
    path = f"/apis/garden.sapcloud.io/v1beta1/namespaces/{namespace}/shoots"

    done = subprocess.run(
        [
            "curl",
            "-sk",
            "--noproxy",
            "*",
            "-H",
            f"Authorization: Bearer {token}",
            server.url + path,
        ],
        capture_output=True,
        timeout=30,
        check=True,
    )

    assert decode_json(done.stdout).value["kind"] == "ShootList"


@pytest.mark.slow
@pytest.mark.timeout(int(WATCH_SECONDS) + 120)
def test_a_watch_through_the_proxy_lives_and_delivers(cluster, namespace) -> None:
    command = ["kubectl", "--kubeconfig", str(cluster.admin), "get", "quotas.garden.sapcloud.io",
               "-n", namespace, "-w", "-o", "name"]  # fmt: skip
    watching = subprocess.Popen(command, stdout=subprocess.PIPE)
    made = []
    try:
        assert watching.stdout is not None
        first = watching.stdout.readline()
        rounds = max(int(WATCH_SECONDS // 15), 1)
        for number in range(rounds):
            made.append(f"watched-{number}")
            cluster.apply(a_quota(name=made[-1], namespace=namespace))
            assert watching.stdout.readline().decode().strip().endswith(f"/{made[-1]}")
            with pytest.raises(subprocess.TimeoutExpired):
                watching.wait(WATCH_SECONDS / rounds)
    finally:
        watching.kill()
        watching.wait()
        if watching.stdout is not None:
            watching.stdout.close()

    assert first.decode().strip().endswith("/quota")
    assert len(made) == rounds
