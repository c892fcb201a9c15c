"""What is measured: one kind of shoot, charged to a budget for all and to one for its project."""

from apis.meta.codec import encode
from apis.meta.transaction import Object
from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.harness.api import Api

NAMESPACE = "garden-bench"
BINDING = "account"
PLENTY = {"cpu": "1G", "memory": "1Ei", "storage.standard": "1Ei", "shoots": "1G"}


def shoot(name: str, *, namespace: str = NAMESPACE) -> Object:
    """As members write them: two worker groups, an add-on, DNS, maintenance."""
    obj = a_shoot(
        name=name,
        namespace=namespace,
        binding=BINDING,
        workers=[
            a_worker(name="cpu-small", maximum=2, size="20Gi"),
            a_worker(name="cpu-large", machine="large", maximum=3, size="50Gi"),
        ],
        nginx=True,
    )
    obj["metadata"]["labels"] = {"team": "bench", "purpose": "evaluation"}
    obj["metadata"]["annotations"] = {"garden.sapcloud.io/purpose": "evaluation"}
    obj["spec"]["dns"] = {"provider": "aws-route53", "domain": "bench.example.org"}
    obj["spec"]["maintenance"] = {
        "timeWindow": {"begin": "220000+0100", "end": "230000+0100"},
        "autoUpdate": {"kubernetesVersion": True},
    }
    obj["spec"]["kubernetes"]["kubeAPIServer"] = {"enableBasicAuthentication": True}
    obj["spec"]["addons"]["kubernetes-dashboard"] = {"enabled": True}
    return obj


def template() -> str:
    """A shoot's JSON for wrk, which puts names where NAME is; its namespace is the path's."""
    obj = shoot("NAME")
    del obj["metadata"]["namespace"]
    return encode(obj).decode()


async def prepare(api: Api, *, quota: bool) -> None:
    """Profile and binding; with `quota` a budget of each scope that the binding names."""
    names = ("total", "each") if quota else ()
    await api.have(a_profile())
    if quota:
        await api.have(
            a_quota(name="total", metrics=PLENTY, days=14),
            a_quota(name="each", scope="project", metrics=PLENTY),
        )
    await api.have(a_binding(name=BINDING, namespace=NAMESPACE, quotas=names))


def project(number: int) -> str:
    """A namespace with budgets of its own (`prepare_projects`)."""
    return f"garden-project-{number}"


async def prepare_projects(api: Api, count: int) -> None:
    """Projects that share no ledger with each other."""
    for number in range(count):
        budgets = f"garden-budgets-{number}"
        await api.have(
            a_quota(name="total", namespace=budgets, metrics=PLENTY, days=14),
            a_quota(name="each", namespace=budgets, scope="project", metrics=PLENTY),
            a_binding(
                name=BINDING,
                namespace=project(number),
                quotas=("total", "each"),
                quota_namespace=budgets,
            ),
        )
