"""Discovery, health, metrics."""

import pytest

from tests.fakes.http_server import GROUP_PATH

GROUP_VERSION = {"groupVersion": "garden.sapcloud.io/v1beta1", "version": "v1beta1"}


async def test_discovery_lists_every_kind_with_its_verbs_and_short_names(server) -> None:
    found = await (await server.session.get(GROUP_PATH)).json()

    by_name = {resource["name"]: resource for resource in found["resources"]}
    assert found["groupVersion"] == "garden.sapcloud.io/v1beta1"
    assert (by_name["quotas"]["kind"], by_name["quotas"]["shortNames"]) == ("Quota", ["squota"])
    assert by_name["quotas/status"]["verbs"] == ["get", "patch", "update"]
    assert by_name["quotausages"]["verbs"] == ["get", "list", "watch"]
    assert not by_name["cloudprofiles"]["namespaced"]


async def test_the_group_names_its_version(server) -> None:
    groups = await (await server.session.get("/apis")).json()
    group = await (await server.session.get("/apis/garden.sapcloud.io")).json()

    assert groups["groups"][0]["preferredVersion"] == GROUP_VERSION
    assert (group["kind"], group["versions"]) == ("APIGroup", [GROUP_VERSION])


async def test_a_client_that_prefers_aggregated_discovery_gets_the_plain_one(server) -> None:
    accept = (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    )

    answer = await server.session.get("/apis", headers={"Accept": accept})

    assert (answer.content_type, (await answer.json())["kind"]) == (
        "application/json",
        "APIGroupList",
    )


@pytest.mark.parametrize(
    ("path", "key"), [("/version", "gitVersion"), ("/api", "versions"), ("/", "paths")]
)
async def test_what_clients_ask_first_is_there(server, path, key) -> None:
    assert key in await (await server.session.get(path)).json()


async def test_every_path_at_the_root_answers(server) -> None:
    paths = (await (await server.session.get("/")).json())["paths"]

    assert [(await server.session.get(path)).status for path in paths] == [200] * len(paths)


async def test_readiness_is_short_unless_asked(server) -> None:
    short = await (await server.session.get("/readyz")).text()
    verbose = await (await server.session.get("/readyz?verbose")).text()

    assert (short, verbose) == ("ok", "[+]ping ok\n[+]etcd ok\nreadyz check passed\n")


async def test_a_failing_check_is_a_503_and_its_reason_is_in_the_log_alone(server) -> None:
    server.ready_fault = "secret reason"

    answer = await server.session.get("/readyz")
    alone = await server.session.get("/readyz/etcd")
    live = await server.session.get("/livez")

    assert (answer.status, await answer.text()) == (
        503,
        "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n",
    )
    assert (alone.status, live.status) == (503, 200)
    assert any("secret reason" in fault for fault in server.faults)


async def test_a_check_can_be_left_out(server) -> None:
    server.ready_fault = "reason"

    answer = await server.session.get("/readyz?exclude=etcd&verbose")

    assert (answer.status, "[+]etcd excluded: ok" in await answer.text()) == (200, True)


async def test_an_unknown_check_is_a_404(server) -> None:
    assert (await server.session.get("/readyz/nosuch")).status == 404


async def test_metrics_count_requests_by_verb_resource_and_code(server) -> None:
    await server.session.get(f"{GROUP_PATH}/namespaces/ns/quotas/missing")
    await server.session.get(f"{GROUP_PATH}/namespaces/ns/quotas/missing")

    answer = await server.session.get("/metrics")

    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    expected = 'quotaapi_requests_total{code="404",resource="quotas",verb="get"} 2'
    assert expected in (await answer.text()).splitlines()


async def test_what_clients_make_up_is_no_label(server) -> None:
    for number in range(5):
        await server.session.request(f"VERB{number}", f"{GROUP_PATH}/made-up-{number}")

    assert "made-up" not in await (await server.session.get("/metrics")).text()
