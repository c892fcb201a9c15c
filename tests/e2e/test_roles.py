"""What hack/deploy/README.md says of each role, tried as somebody who has it and nothing else."""

from pathlib import Path

import pytest

from apis.garden.v1beta1.register import RESOURCES
from apis.meta.codec import encode, encode_yaml
from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker, an_object
from tests.e2e.cluster import Object, RealCluster
from tests.e2e.people import member, person, refusal, wait_allowed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

READ_IN_A_NAMESPACE = [each.group_resource for each in RESOURCES if each.namespaced]
MAY_NOT = "cannot {} resource"


class Hands:
    """kubectl as somebody, in a namespace. Answers what was refused; empty: it was done."""

    def __init__(self, cluster: RealCluster, who: Path, namespace: str) -> None:
        self._cluster, self._who, self._namespace = cluster, who, namespace

    def __call__(self, *arguments: str, stdin: bytes = b"") -> str:
        done = self._cluster.kubectl(
            *arguments, "-n", self._namespace, config=self._who, stdin=stdin, check=False
        )
        return "" if done.returncode == 0 else done.stderr.decode()

    def create(self, obj: Object) -> str:
        return self("create", "-f", "-", stdin=encode_yaml(obj))

    def replace(self, obj: Object) -> str:
        return self("replace", "-f", "-", stdin=encode_yaml(obj))

    def label(self, what: str) -> str:
        return self("label", "--overwrite", what, "tried=it")


def hands(cluster: RealCluster, namespace: str, role: str) -> Hands:
    return Hands(cluster, member(cluster, namespace, role, f"{role}-{namespace}"), namespace)


def a_private_binding(namespace: str) -> Object:
    return a_binding(
        name="mine",
        namespace=namespace,
        kind="PrivateSecretBinding",
        quotas=["quota"],
        quota_namespace=namespace,
    )


def a_limit_range(namespace: str) -> Object:
    limits = [{"type": "Machine", "max": {"cpu": "8"}}]
    return an_object("ShootLimitRange", name="slr", namespace=namespace, spec={"limits": limits})


@pytest.fixture
def shoot(cluster: RealCluster, namespace: str) -> Object:
    made = a_shoot(namespace=namespace)
    cluster.apply(made)
    return made


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_every_member_reads_all_of_the_namespace(cluster, namespace, shoot, role) -> None:
    may = hands(cluster, namespace, role)
    base = f"/apis/garden.sapcloud.io/v1beta1/namespaces/{namespace}"
    below = ("quotas/quota/status", "shoots/shoot/status", "shoots/shoot/resourcequota")

    assert may("get", ",".join(READ_IN_A_NAMESPACE)) == ""
    assert [may("get", "--raw", f"{base}/{path}") for path in below] == [""] * len(below)


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_no_member_changes_quotas_ledgers_ranges_or_lent_secrets(
    cluster, namespace, shoot, role
) -> None:
    may = hands(cluster, namespace, role)
    limits = a_limit_range(namespace)
    usage = cluster.get("quotausages", "-n", namespace)["items"][0]["metadata"]["name"]

    denied = [
        may.create(a_quota(name="more", namespace=namespace)),
        may.label("quotas.garden.sapcloud.io/quota"),
        may("delete", "squota", "--all"),
        may.label(f"quotausage/{usage}"),
        may.create(limits),
        may.label("crosssecretbinding/binding"),
        may("delete", "crosssecretbinding", "binding"),
        may.create(a_binding(name="lent", namespace=namespace, quota_namespace=namespace)),
    ]

    assert [text for text in denied if "cannot" not in text] == []


def test_a_viewer_writes_nothing(cluster, namespace, shoot) -> None:
    may = hands(cluster, namespace, "view")

    denied = [may.label("shoot/shoot"), may.create(a_private_binding(namespace))]

    assert [text for text in denied if "cannot" not in text] == []


@pytest.mark.parametrize("role", ["edit", "admin"])
def test_an_editor_writes_shoots(cluster, namespace, role) -> None:
    may = hands(cluster, namespace, role)
    made = a_shoot(namespace=namespace)
    larger = a_shoot(namespace=namespace, workers=[a_worker(maximum=2)])

    assert [
        may.create(made),
        may.replace(larger),
        may.label("shoot/shoot"),
        may("delete", "shoot", "shoot"),
        may.create(made),
        may("delete", "shoots", "--all"),
    ] == [""] * 6


def test_an_editor_writes_no_bindings(cluster, namespace) -> None:
    may = hands(cluster, namespace, "edit")

    assert MAY_NOT.format("create") in may.create(a_private_binding(namespace))


def test_an_admin_binds_secrets_of_the_namespace(cluster, namespace) -> None:
    may = hands(cluster, namespace, "admin")
    binding = a_private_binding(namespace)

    assert [
        may.create(binding),
        may.replace({**binding, "quotas": []}),
        may.label("psb/mine"),
        may("delete", "psb", "mine"),
    ] == [""] * 4


def test_strangers_see_profiles_and_nothing_else(cluster, namespace) -> None:
    stranger = person(cluster, "stranger")

    profiles = cluster.kubectl("get", "cloudprofiles", "-o", "name", config=stranger)
    shoots = cluster.kubectl("get", "shoots", "-n", namespace, config=stranger, check=False)
    change = cluster.kubectl("delete", "cloudprofile", "aws", config=stranger, check=False)

    assert b"cloudprofile.garden.sapcloud.io/aws" in profiles.stdout
    assert "cannot list resource" in refusal(shoots)
    assert "cannot delete resource" in refusal(change)


@pytest.fixture
def sponsor(cluster: RealCluster, namespace: str) -> Hands:
    """Of a group that has `quotaapi:operator`, as hack/deploy/README.md gives it."""
    group = f"sponsors-{namespace}"
    cluster.kubectl("create", "clusterrolebinding", group, "--clusterrole=quotaapi:operator",
                    f"--group={group}")  # fmt: skip
    who = person(cluster, f"sam-{namespace}", group)
    wait_allowed(cluster, who, "create", "quotas.garden.sapcloud.io", "-n", namespace)
    return Hands(cluster, who, namespace)


def test_an_operator_writes_everything_of_the_group(cluster, namespace, sponsor, shoot) -> None:
    profile = a_profile(name=f"sky-{namespace}")
    limits = a_limit_range(namespace)
    condition = {"type": "Tried", "status": "True", "reason": "Trial", "message": "it was"}
    condition["lastTransitionTime"] = "2024-01-02T03:04:05Z"
    status = encode({"status": {"conditions": [condition]}}).decode()

    assert [
        sponsor.create(profile),
        sponsor.label(f"cloudprofile/sky-{namespace}"),
        sponsor("delete", "cloudprofile", f"sky-{namespace}"),
        sponsor.create(a_quota(name="more", namespace=namespace)),
        sponsor.label("squota/more"),
        sponsor("patch", "squota", "more", "--subresource=status", "--type=merge", "-p", status),
        sponsor("delete", "squota", "more"),
        sponsor.create(limits),
        sponsor.label("slr/slr"),
        sponsor("delete", "slr", "slr"),
        sponsor.label("shoot/shoot"),
        sponsor.label("csb/binding"),
        sponsor("get", ",".join(READ_IN_A_NAMESPACE)),
    ] == [""] * 13


def test_an_operator_binds_a_secret_with_the_right_to_read_it(cluster, namespace, sponsor) -> None:
    lent = a_binding(name="lent", namespace=namespace, quotas=["quota"], quota_namespace=namespace)

    denied = sponsor.create(lent)
    # As hack/deploy/README.md has it.
    cluster.kubectl("create", "role", "account", "-n", namespace, "--verb=get",
                    "--resource=secrets", "--resource-name=account")  # fmt: skip
    cluster.kubectl("create", "rolebinding", "account", "-n", namespace, "--role=account",
                    f"--group=sponsors-{namespace}")  # fmt: skip

    assert "cannot reference a secret you are not allowed to read" in denied
    # The server remembers for a while that it was denied.
    cluster.wait(lambda: sponsor.create(lent) == "")
    assert sponsor("get", "secrets") != ""
    assert [
        sponsor("patch", "csb", "lent", "--type=merge", "-p", '{"quotas":[]}'),
        sponsor("delete", "csb", "lent"),
    ] == ["", ""]
