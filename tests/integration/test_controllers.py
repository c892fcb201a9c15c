"""The controllers in whole server processes on a real etcd."""

import asyncio
import base64
import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from quotaapi.audit.history import Span, audit
from quotaapi.audit.sources import open_backend
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Change, Violation
from tests.builders import MACHINES, a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.harness.api import Api
from tests.harness.burst import burst, split
from tests.harness.etcd import assert_exact, counters
from tests.harness.server import ServerProcess

QUOTA_KEY = "/registry/garden.sapcloud.io/quotas/garden-trial/quota"
OFTEN = ("--resync-interval", "500ms")


def metric(server: ServerProcess, name: str) -> float:
    text = server.request("GET", "/metrics").text
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    assert found, f"no {name}"
    return float(found[1])


async def eventually(server: ServerProcess, name: str, value: float, seconds: float = 10) -> None:
    """Another process counts: there is nothing to wait on."""
    async with asyncio.timeout(seconds):
        while metric(server, name) < value:  # noqa: ASYNC110 -- a counter, no event
            await asyncio.sleep(0.05)


async def until_it_follows(server: ServerProcess, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while metric(server, "quotaapi_leader"):  # noqa: ASYNC110 -- a counter, no event
            await asyncio.sleep(0.05)


def etcd(url: str, method: str, **body: Any) -> dict[str, Any]:
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{url}/v3/kv/{method}", json=body, timeout=10)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def have_quota(api: Api, cpu: str = "100k", **more: str) -> None:
    await api.have(
        a_profile(),
        a_quota(name="quota", metrics={"cpu": cpu, "gpu": "100k", **more}),
        a_binding(name="binding", quotas=["quota"]),
    )


async def set_prices(api: Api, machines: Mapping[str, Mapping[str, str]]) -> None:
    profile = await api.request("GET", "cloudprofiles/aws")
    new = {**a_profile(machines=machines), "metadata": profile.body["metadata"]}
    answer = await api.update(new)
    assert answer.status == 200, answer


async def test_a_spoilt_account_is_mended_while_the_server_runs(
    tmp_path: Path, own_etcd_url: str
) -> None:
    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url, arguments=OFTEN) as server:
        async with server.client() as session:
            api = Api(session)
            await have_quota(api)
            await api.have(a_shoot(name="one"))
            value = etcd(own_etcd_url, "range", key=b64(QUOTA_KEY))["kvs"][0]["value"]
            await api.have(a_shoot(name="two"))
            assert metric(server, "quotaapi_ledger_drift_total") == 0
            etcd(own_etcd_url, "put", key=b64(QUOTA_KEY), value=value)

            await eventually(server, "quotaapi_ledger_repaired_total", 1)

            assert metric(server, "quotaapi_ledger_drift_total") == 1
            assert (await api.used("garden-trial", "quota"))["cpu"] == "4"
    assert_exact(own_etcd_url, "--from-revision", str(counters(own_etcd_url).revision))


async def test_new_prices_are_charged_at_once_and_exactly_under_load(
    tmp_path: Path, own_etcd_url: str
) -> None:
    dearer = {**MACHINES, "small": {"cpu": "3", "gpu": "1", "memory": "8Gi"}}
    with (
        ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as one,
        ServerProcess(tmp_path / "two", etcd_servers=own_etcd_url) as two,
    ):
        async with one.client() as first, two.client() as second:
            apis = [Api(first), Api(second)]
            await have_quota(apis[0])
            await burst(apis, (a_shoot(name=f"old-{n}") for n in range(300)))

            answers, _ = await asyncio.gather(
                burst(apis, (a_shoot(name=f"new-{n}") for n in range(300)), clients=20),
                set_prices(apis[0], dearer),
            )

            assert len(split(answers)[0]) == 300
            async with asyncio.timeout(20):
                while (await apis[0].used("garden-trial", "quota"))["cpu"] != "1800":  # noqa: ASYNC110 -- a counter, no event
                    await asyncio.sleep(0.05)
            leaders = [metric(server, "quotaapi_leader") for server in (one, two)]
            assert sorted(leaders) == [0, 1]
            drift = [metric(server, "quotaapi_ledger_drift_total") for server in (one, two)]
            assert drift == [0, 0]
    assert_exact(own_etcd_url)


async def test_new_prices_beyond_the_limit_are_charged_in_bounded_transactions_and_admit_nobody(
    tmp_path: Path, own_etcd_url: str
) -> None:
    """The price is the operator's: what exists is charged whatever the limit, what comes is not
    admitted beyond it, and the audit tells the one from the other."""
    dearer = {**MACHINES, "small": {"cpu": "3", "gpu": "0", "memory": "8Gi"}}
    with (
        ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as one,
        ServerProcess(tmp_path / "two", etcd_servers=own_etcd_url) as two,
    ):
        async with one.client() as first, two.client() as second:
            apis = [Api(first), Api(second)]
            await have_quota(apis[0], cpu="640")
            await burst(apis, (a_shoot(name=f"old-{n}") for n in range(300)))
            under_way = asyncio.Event()

            async def reprice() -> None:
                await under_way.wait()
                await set_prices(apis[0], dearer)

            answers, _ = await asyncio.gather(
                burst(
                    apis,
                    (a_shoot(name=f"new-{n}") for n in range(100)),
                    clients=10,
                    answered=lambda count: under_way.set() if count == 5 else None,
                ),
                reprice(),
            )
            made, refused, unknown = split(answers)
            assert refused
            assert not unknown
            total = 3 * (300 + len(made))
            async with asyncio.timeout(20):
                while (await apis[0].used("garden-trial", "quota"))["cpu"] != str(total):  # noqa: ASYNC110 -- a counter, no event
                    await asyncio.sleep(0.05)
            assert total > 640
            assert (await apis[1].create(a_shoot(name="never"))).status == 403
    assert_exact(own_etcd_url)
    assert 20 < await largest_transaction(own_etcd_url) <= 128


class Largest(Auditor):
    """Remembers how many changes one revision had at most."""

    largest = 0

    def apply(self, revision: int, changes: Sequence[Change]) -> list[Violation]:
        self.largest = max(self.largest, len(changes))
        return super().apply(revision, changes)


async def largest_transaction(etcd_url: str) -> int:
    """Changes of one revision, of all that etcd has."""
    auditor = Largest()
    async with open_backend([etcd_url]) as backend:
        await audit(backend, Span(), auditor, lambda _violation: None)
    return auditor.largest


async def test_the_next_replica_leads_as_soon_as_the_leader_stops(
    tmp_path: Path, own_etcd_url: str
) -> None:
    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as one:
        await eventually(one, "quotaapi_leader", 1)
        with ServerProcess(tmp_path / "two", etcd_servers=own_etcd_url) as two:
            assert metric(two, "quotaapi_leader") == 0

            assert one.stop() == 0

            await eventually(two, "quotaapi_leader", 1, seconds=6)


@pytest.mark.slow
async def test_a_leader_that_was_paused_beyond_its_lease_cannot_act(
    tmp_path: Path, own_etcd_url: str
) -> None:
    """Its expired shoot, its drift and its prices are left to the replica that leads by then."""
    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url, arguments=OFTEN) as one:
        await eventually(one, "quotaapi_leader", 1)
        with ServerProcess(tmp_path / "two", etcd_servers=own_etcd_url, arguments=OFTEN) as two:
            async with two.client() as session:
                api = Api(session)
                await have_quota(api)
                await api.have(a_shoot(name="one"))
                value = etcd(own_etcd_url, "range", key=b64(QUOTA_KEY))["kvs"][0]["value"]
                os.kill(one.pid, signal.SIGSTOP)
                try:
                    await eventually(two, "quotaapi_leader", 1, seconds=40)
                    await api.have(a_shoot(name="two"))
                    etcd(own_etcd_url, "put", key=b64(QUOTA_KEY), value=value)
                    await eventually(two, "quotaapi_ledger_repaired_total", 1)
                finally:
                    os.kill(one.pid, signal.SIGCONT)

                # By then it has done what it would do, were it allowed to.
                await until_it_follows(one)
                assert metric(one, "quotaapi_ledger_repaired_total") == 0
                assert metric(two, "quotaapi_leader") == 1
    assert_exact(own_etcd_url, "--from-revision", str(counters(own_etcd_url).revision))


async def test_what_the_quotas_leave_inside_a_cluster(api: Api) -> None:
    await api.have(
        a_profile(),
        a_quota(name="secret", metrics={"loadbalancers": "10", "storage.standard": "100Gi"}),
        a_quota(name="project", scope="project", metrics={"pvc.premium": "5Gi"}),
        a_binding(name="binding", quotas=["secret", "project"]),
        a_shoot(name="shoot", nginx=True, workers=[a_worker(maximum=3)]),
        a_shoot(name="neighbour"),
    )
    path = "namespaces/garden-dev/shoots/shoot/resourcequota"

    found = await api.request("GET", path)

    assert found.status == 200
    assert found.body == {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "shoot"},
        "spec": {
            "hard": {
                "services.loadbalancers": "8",
                "standard.storageclass.storage.k8s.io/requests.storage": "70Gi",
                "premium.storageclass.storage.k8s.io/requests.storage": "5Gi",
            }
        },
    }
    assert (await api.request("PUT", path, {})).status == 405
    assert (await api.request("GET", path.replace("shoot/", "none/"))).status == 404
    assert (await api.request("GET", path.replace("resourcequota", "scale"))).status == 404


async def test_discovery_names_the_resourcequota_of_shoots(api: Api) -> None:
    listed = (await api.request("GET", "/apis/garden.sapcloud.io/v1beta1")).body["resources"]

    assert {
        "name": "shoots/resourcequota",
        "singularName": "",
        "namespaced": True,
        "version": "v1",
        "kind": "ResourceQuota",
        "verbs": ["get"],
    } in listed
