"""Line a of the main job: real manifests go in unchanged and are charged exactly."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.harness.accounts import charges
from tests.harness.api import PLURALS
from tests.harness.etcd import assert_exact, running_etcd
from tests.harness.server import ServerProcess
from tests.shared_material import shared

# machines x (cpu, memory) of the machine type and x volume size on the volume type's class, by hand:
EXPECTED: Mapping[str, Mapping[str, str]] = {
    # 2 x ecs.sn2ne.xlarge (4 cpu, 16Gi), 2 x 30Gi cloud_efficiency (standard)
    "demo-alicloud": {"cpu": "8", "memory": "32Gi", "storage.standard": "60Gi", "machines": "2"},
    # 2 x m4.large (2 cpu, 8Gi), 2 x 20Gi gp2 (standard)
    "demo-aws": {"cpu": "4", "memory": "16Gi", "storage.standard": "40Gi", "machines": "2"},
    # 2 x Standard_DS2_v2 (2 cpu, 7Gi), 2 x 35Gi standard (standard)
    "demo-azure": {"cpu": "4", "memory": "14Gi", "storage.standard": "70Gi", "machines": "2"},
    # 2 x n1-standard-4 (4 cpu, 15Gi), 2 x 20Gi pd-standard (standard)
    "demo-gcp": {"cpu": "8", "memory": "30Gi", "storage.standard": "40Gi", "machines": "2"},
    # no workers
    "demo-local": {},
    # 2 x medium_2_4 (2 cpu, 4Gi, its own volume of 20Gi of type default, which is its class too)
    "demo-openstack": {"cpu": "4", "memory": "8Gi", "storage.default": "40Gi", "machines": "2"},
    # 2 x c1.small (4 cpu, 32Gi), 2 x 30Gi of class standard
    "demo-packet": {"cpu": "8", "memory": "64Gi", "storage.standard": "60Gi", "machines": "2"},
}
EVERY_SHOOT = {"loadbalancer": "1", "shoots": "1"}
"""nginx-ingress is disabled in all of them: one load balancer."""


def number_of(manifest: Path) -> int:
    return int(manifest.name.partition("-")[0])


def manifests() -> list[Path]:
    return sorted(shared("manifests").glob("*.yaml"), key=lambda path: (number_of(path), path.name))


def name_of(manifest: Path) -> str:
    lines = manifest.read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("  name:"))


def collection_of(manifest: Path) -> str:
    """The collection's path, read as text: the manifests stay as they are."""
    lines = manifest.read_text().splitlines()
    kind = next(line.split()[1] for line in lines if line.startswith("kind:"))
    namespaces = [line.split()[1] for line in lines if line.startswith("  namespace:")][:1]
    if kind == "CloudProfile":
        return PLURALS[kind]
    return f"namespaces/{namespaces[0]}/{PLURALS[kind]}"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, str]]:
    """A server with everything in it, and its etcd's URL."""
    directory = tmp_path_factory.mktemp("manifests")
    with (
        running_etcd(directory / "etcd") as etcd,
        ServerProcess(directory / "server", etcd_servers=etcd.endpoint) as server,
    ):
        for manifest in manifests():
            answer = server.request(
                "POST",
                collection_of(manifest),
                data=manifest.read_bytes(),
                headers={"Content-Type": "application/yaml"},
            )
            assert answer.status_code == 201, f"{manifest.name}: {answer.text}"
        yield server, etcd.endpoint


def test_every_shoot_is_charged_what_was_computed_by_hand(
    filled: tuple[ServerProcess, str],
) -> None:
    expected = {name: {**charge, **EVERY_SHOOT} for name, charge in EXPECTED.items()}

    assert charges(filled[1]) == expected


def test_the_accounts_are_exact_at_every_revision(filled: tuple[ServerProcess, str]) -> None:
    statistics = assert_exact(filled[1])

    assert (statistics["shoots"], statistics["quotas"]) == (7, 3)


def test_every_manifest_goes_in_a_second_time_as_an_update_that_changes_nothing(
    filled: tuple[ServerProcess, str],
) -> None:
    server, _ = filled
    for manifest in manifests():
        path = f"{collection_of(manifest)}/{name_of(manifest)}"
        before = server.request("GET", path).json()
        version = before["metadata"]["resourceVersion"]
        text = manifest.read_text().replace(
            "metadata:\n", f'metadata:\n  resourceVersion: "{version}"\n', 1
        )

        answer = server.request(
            "PUT", path, data=text.encode(), headers={"Content-Type": "application/yaml"}
        )

        assert answer.status_code == 200, f"{manifest.name}: {answer.text}"
        assert answer.json()["spec" if "spec" in before else "secretRef"] == (
            before.get("spec") or before["secretRef"]
        )


KUBECTL_TABLES = [
    ("shoots", ["demo-aws", "demo-openstack", "core-aws", "cpu"]),
    ("squota", ["trial-quota", "secret", "0/200"]),
    ("cprofile", ["alicloud", "openstack"]),
    ("psb", ["core-aws", "core-gcp"]),
    ("csb", ["trial-aws", "trial-aws-secret-quota"]),
    ("sb", ["core-azure"]),
]


@pytest.mark.kubectl
@pytest.mark.parametrize(("resource", "texts"), KUBECTL_TABLES, ids=[r for r, _ in KUBECTL_TABLES])
def test_kubectl_lists_them_as_a_table(
    filled: tuple[ServerProcess, str], tmp_path: Path, resource: str, texts: list[str]
) -> None:
    table = kubectl(filled[0], tmp_path, "get", resource, "--all-namespaces", "-o", "wide")

    heading, *rows = table.splitlines()
    assert "NAME" in heading.split()
    assert "AGE" in heading.split()
    assert rows
    assert [text for text in texts if text not in table] == [], table


@pytest.mark.kubectl
def test_kubectl_deletes_creates_and_edits(
    filled: tuple[ServerProcess, str], tmp_path: Path
) -> None:
    server, _ = filled
    shoot = next(path for path in manifests() if path.name == "90-shoot-gcp.yaml")

    kubectl(server, tmp_path, "delete", "-f", str(shoot), "--wait=true")
    kubectl(server, tmp_path, "create", "--validate=false", "-f", str(shoot))
    kubectl(server, tmp_path, "label", "shoot", "demo-gcp", "-n", "garden-dev", "tier=test")

    labelled = kubectl(server, tmp_path, "get", "shoots", "-A", "-l", "tier=test", "-o", "name")
    assert labelled.split() == ["shoot.garden.sapcloud.io/demo-gcp"]


def kubectl(server: ServerProcess, cache: Path, *arguments: str) -> str:
    binary = shutil.which("kubectl")
    if binary is None:
        if os.environ.get("CI"):
            pytest.fail("kubectl is not there")
        pytest.skip("kubectl is not there")
    done = subprocess.run(
        [
            *(binary, "--kubeconfig", str(server.data_dir / "admin.kubeconfig")),
            *("--cache-dir", str(cache), *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        # kubectl writes nothing outside the test's own directory.
        env={"PATH": os.environ["PATH"], "HOME": str(cache)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
