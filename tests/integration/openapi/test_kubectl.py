"""The real kubectl on the documents: version 3 where it knows it, else version 2 as protobuf."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from apis.garden.v1beta1.register import RESOURCES
from tests.harness.server import ServerProcess

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")

QUOTA = {
    "apiVersion": "garden.sapcloud.io/v1beta1",
    "kind": "Quota",
    "metadata": {"name": "total", "namespace": "default"},
    "spec": {"scope": "secret", "metrics": {"cpu": 4}},
}
SHOOT = {
    "apiVersion": "garden.sapcloud.io/v1beta1",
    "kind": "Shoot",
    "metadata": {"name": "first", "namespace": "default"},
    "spec": {"nobody": "knows", "cloud": {"profile": "sky"}, "kubernetes": {"version": "1"}},
}


class Kubectl:
    """Runs with a home of its own: what it learnt of other servers is not asked."""

    def __init__(self, server: ServerProcess, home: Path) -> None:
        self._home = home
        self._kubeconfig = str(server.data_dir / "admin.kubeconfig")

    def __call__(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["kubectl", "--kubeconfig", self._kubeconfig, *arguments],
            input=stdin,
            env={"HOME": str(self._home), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def output(self, *arguments: str) -> str:
        done = self(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def kubectl(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(server, tmp_path_factory.mktemp("home"))


def test_api_resources_lists_every_kind(kubectl) -> None:
    names = kubectl.output("api-resources", "-o", "name").split()

    assert set(names) == {resource.group_resource for resource in RESOURCES}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_explain_knows_every_field_of_a_kind(kubectl, resource) -> None:
    shown = kubectl.output("explain", resource.plural, "--recursive")

    words = set(shown.split())
    assert {"metadata", "managedFields", *resource.schema.declaration.fields} <= words


def test_explain_describes_a_field(kubectl) -> None:
    shown = kubectl.output("explain", "quotas.spec.clusterLifetimeDays")

    assert "Days from its creation after which a cluster is deleted" in shown
    assert "<integer>" in shown


def test_a_plain_number_is_a_quantity_for_kubectl_too(kubectl) -> None:
    done = kubectl("create", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(QUOTA))

    assert done.stdout == "quota.garden.sapcloud.io/total created (server dry run)\n", done.stderr


def test_an_unknown_field_is_refused(kubectl) -> None:
    wrong = {**QUOTA, "spec": {"scope": "secret", "metrics": {}, "nope": 1}}

    done = kubectl("create", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(wrong))

    assert done.returncode == 1
    assert "unknown field" in done.stderr
    assert "nope" in done.stderr


def test_fields_that_are_preserved_are_not_refused_by_kubectl_itself(kubectl) -> None:
    done = kubectl("create", "--dry-run=client", "-f", "-", stdin=yaml.safe_dump(SHOOT))

    assert done.stdout == "shoot.garden.sapcloud.io/first created (dry run)\n", done.stderr
