"""People of a cluster and what they may, and objects of the core group."""

import subprocess
from pathlib import Path

from tests.builders import an_object
from tests.e2e.cluster import Object, RealCluster


def a_core(kind: str, name: str, namespace: str = "", **fields: object) -> Object:
    return {**an_object(kind, name=name, namespace=namespace, **fields), "apiVersion": "v1"}


def person(cluster: RealCluster, name: str, *groups: str) -> Path:
    """A kubeconfig of somebody whom the cluster knows and has given nothing."""
    return cluster.kubeconfig(name, cluster.users.client(name, *groups))


def member(cluster: RealCluster, namespace: str, role: str, name: str) -> Path:
    """A kubeconfig of a user that has a role of the cluster's in a namespace."""
    cluster.kubectl(
        "create", "rolebinding", name, "-n", namespace, f"--clusterrole={role}", f"--user={name}"
    )
    who = person(cluster, name)
    wait_allowed(cluster, who, "get", "shoots.garden.sapcloud.io", "-n", namespace)
    return who


def wait_allowed(cluster: RealCluster, who: Path, verb: str, resource: str, *more: str) -> None:
    """Until the authorizer has seen the binding: who is denied before is denied for a while."""
    cluster.wait(
        lambda: cluster.kubectl(
            "auth", "can-i", verb, resource, *more, config=who, check=False
        ).returncode == 0
    )  # fmt: skip


def refusal(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.returncode != 0, done.stdout
    return done.stderr.decode()
