"""The official Python client: its dynamic client, its watch, and its informer through trouble."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kubernetes.dynamic.exceptions import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnprocessibleEntityError,
)

from apis.meta.codec import decode_json
from apis.meta.transaction import Object
from tests.builders import API_VERSION, a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.clients.python_client import KUBERNETES, api_client, dynamic_client, informer, lister
from tests.faults.scenarios.storage import compact
from tests.harness.server import GROUP_PATH, ServerProcess
from tests.tcp_proxy import TcpProxy, tcp_proxy

pytestmark = pytest.mark.integration

WINDOW = 20
"""Events that the server of these tests keeps: for older versions it asks etcd."""


@pytest.fixture(scope="module")
def short_memory(
    etcd_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("short-memory") / "data"
    arguments = ("--watch-cache-size", str(WINDOW), "--etcd-prefix", "/short-memory")
    with ServerProcess(directory, etcd_servers=etcd_url, arguments=arguments) as process:
        yield process


@pytest.fixture
def dynamic(server: ServerProcess, tmp_path: Path) -> Iterator[Any]:
    with api_client(server) as client:
        yield dynamic_client(client, tmp_path)


@pytest.fixture
def quotas(dynamic) -> Any:
    return dynamic.resources.get(api_version=API_VERSION, kind="Quota")


def test_the_dynamic_client_discovers_the_kinds(dynamic) -> None:
    found = dynamic.resources.search(group="garden.sapcloud.io")
    by_short_name = dynamic.resources.get(short_names=["cprofile", "cpfl"])

    assert {"Shoot", "Quota", "CloudProfile"} <= {resource.kind for resource in found}
    assert by_short_name.kind == "CloudProfile"
    assert not by_short_name.namespaced


def test_create_get_list_replace_patch_delete(quotas, namespace) -> None:
    created = quotas.create(body=a_quota(name="team", namespace=namespace))
    listed = quotas.get(namespace=namespace, label_selector="!nothing")
    changed = quotas.get(namespace=namespace, name="team").to_dict()
    changed["spec"]["metrics"] = {"cpu": "5"}
    replaced = quotas.replace(body=changed)
    patched = quotas.patch(
        namespace=namespace,
        name="team",
        body={"spec": {"metrics": {"cpu": "6"}}},
        content_type="application/merge-patch+json",
    )
    deleted = quotas.delete(namespace=namespace, name="team")

    assert (created.kind, created.metadata.generation) == ("Quota", 1)
    assert [item.metadata.name for item in listed.items] == ["team"]
    assert replaced.spec.metrics.cpu == "5"
    assert patched.spec.metrics.cpu == "6"
    assert deleted.status == "Success"
    with pytest.raises(NotFoundError):
        quotas.get(namespace=namespace, name="team")


def test_the_clients_default_patch_is_a_strategic_one(quotas, namespace) -> None:
    quotas.create(body=a_quota(name="team", namespace=namespace, metrics={"cpu": "1", "gpu": "1"}))

    patched = quotas.patch(
        namespace=namespace, name="team", body={"spec": {"metrics": {"gpu": None, "cpu": "2"}}}
    )

    assert patched.spec.metrics.to_dict() == {"cpu": "2"}


def test_server_side_apply_conflicts_and_is_forced(quotas, namespace) -> None:
    mine = a_quota(name="team", namespace=namespace, metrics={"cpu": "1"})
    theirs = a_quota(name="team", namespace=namespace, metrics={"cpu": "2"})

    applied = quotas.server_side_apply(body=mine, field_manager="mine")
    with pytest.raises(ConflictError) as conflict:
        quotas.server_side_apply(body=theirs, field_manager="theirs")
    forced = quotas.server_side_apply(body=theirs, field_manager="theirs", force_conflicts=True)

    assert [entry.manager for entry in applied.metadata.managedFields] == ["mine"]
    [cause] = decode_json(str(conflict.value.body).encode()).value["details"]["causes"]
    assert (cause["field"], cause["message"]) == (".spec.metrics.cpu", 'conflict with "mine"')
    assert forced.spec.metrics.cpu == "2"


def test_a_status_is_a_subresource(quotas, namespace) -> None:
    quotas.create(body=a_quota(name="team", namespace=namespace))
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "Looked",
        "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }

    quotas.status.patch(
        namespace=namespace,
        name="team",
        body={"status": {"conditions": [condition]}},
        content_type="application/merge-patch+json",
    )

    assert quotas.status.get(namespace=namespace, name="team").status.conditions[0].type == "Ready"


def test_refusals_are_the_clients_own_errors(dynamic, quotas, namespace) -> None:
    shoots = dynamic.resources.get(api_version=API_VERSION, kind="Shoot")
    bindings = dynamic.resources.get(api_version=API_VERSION, kind="CrossSecretBinding")
    profiles = dynamic.resources.get(api_version=API_VERSION, kind="CloudProfile")
    profiles.create(body=a_profile(name=f"sky-{namespace}"))
    quotas.create(body=a_quota(name="total", namespace=namespace, metrics={"cpu": "3"}))
    bindings.create(
        body=a_binding(namespace=namespace, quotas=["total"], quota_namespace=namespace)
    )
    large = a_shoot(
        namespace=namespace, profile=f"sky-{namespace}", workers=[a_worker(machine="large")]
    )

    with pytest.raises(ForbiddenError) as forbidden:
        shoots.create(body=large)
    with pytest.raises(UnprocessibleEntityError):
        quotas.create(body=a_quota(namespace=namespace, scope="galaxy"))

    assert "exceeded quota: total" in str(forbidden.value.body)


def test_a_watch_delivers_each_event_once(quotas, namespace) -> None:
    start = quotas.get(namespace=namespace).metadata.resourceVersion
    quotas.create(body=a_quota(name="team", namespace=namespace))
    quotas.patch(
        namespace=namespace,
        name="team",
        body={"metadata": {"labels": {"a": "b"}}},
        content_type="application/merge-patch+json",
    )
    quotas.delete(namespace=namespace, name="team")

    watched = quotas.watch(namespace=namespace, resource_version=start, timeout=2)
    seen = [(event["type"], event["object"].metadata.name) for event in watched]

    assert seen == [("ADDED", "team"), ("MODIFIED", "team"), ("DELETED", "team")]


def test_a_watch_of_one_object_with_initial_events(quotas, namespace) -> None:
    for name in ("one", "two"):
        quotas.create(body=a_quota(name=name, namespace=namespace))

    watched = quotas.watch(
        namespace=namespace,
        name="two",
        timeout=1,
        allow_watch_bookmarks=True,
        send_initial_events=True,
        resource_version_match="NotOlderThan",
    )
    seen = [(event["type"], event["raw_object"]["metadata"]) for event in watched]

    assert [(type_, metadata.get("name")) for type_, metadata in seen[:2]] == [
        ("ADDED", "two"),
        ("BOOKMARK", None),
    ]
    assert seen[1][1]["annotations"] == {"k8s.io/initial-events-end": "true"}


class Scene:
    """A server, the proxy that leads to it, and objects that are written past the proxy."""

    def __init__(self, server: ServerProcess, proxy: TcpProxy, namespace: str) -> None:
        self.server = server
        self.proxy = proxy
        self.namespace = namespace
        self._path = f"{GROUP_PATH}/namespaces/{namespace}/quotas"

    async def create(self, *names: str) -> None:
        for name in names:
            quota = a_quota(name=name, namespace=self.namespace)
            answer = await asyncio.to_thread(self.server.request, "POST", self._path, quota)
            assert answer.status_code == 201, answer.text

    async def label(self, name: str, value: str) -> None:
        answer = await asyncio.to_thread(
            self.server.request,
            "PATCH",
            f"{self._path}/{name}",
            {"metadata": {"labels": {"seen": value}}},
            headers={"Content-Type": "application/merge-patch+json"},
        )
        assert answer.status_code == 200, answer.text

    async def delete(self, name: str) -> None:
        answer = await asyncio.to_thread(self.server.request, "DELETE", f"{self._path}/{name}")
        assert answer.status_code == 200, answer.text

    def stored(self) -> dict[str, Object]:
        items = self.server.request("GET", self._path).json()["items"]
        return {f"{self.namespace}/{item['metadata']['name']}": item for item in items}


@pytest_asyncio.fixture
async def scene(short_memory: ServerProcess, namespace: str) -> AsyncIterator[Scene]:
    async with tcp_proxy(short_memory.port) as proxy:
        yield Scene(short_memory, proxy, namespace)


def cached(running: Any) -> dict[str, Object]:
    return {key: running.cache.get_by_key(key) for key in running.cache.list_keys()}


async def test_an_informer_goes_on_after_a_disconnect(scene) -> None:
    with api_client(scene.server, scene.proxy.port) as client:
        list_quotas = lister(client, scene.namespace, "quotas")
        await scene.create("before")
        with informer(list_quotas) as (running, told):
            await asyncio.to_thread(told.wait_for, lambda told: told.names("ADDED") == ["before"])
            await scene.create("during")
            await asyncio.to_thread(told.wait_for, lambda told: "during" in told.names("ADDED"))

            await scene.proxy.refuse()
            await scene.create("away")
            await scene.label("before", "away")
            await scene.delete("during")
            await scene.proxy.listen()
            await scene.create("after")
            await asyncio.to_thread(told.wait_for, lambda told: "after" in told.names("ADDED"))

            # Each once, without a new list: the watch was resumed at the last version seen.
            assert told.names("ADDED") == ["before", "during", "away", "after"]
            assert told.names("MODIFIED") == ["before"]
            assert told.names("DELETED") == ["during"]
            assert cached(running) == scene.stored()


async def test_an_informer_lists_anew_after_a_410(scene, etcd_url: str) -> None:
    with api_client(scene.server, scene.proxy.port) as client:
        list_quotas = lister(client, scene.namespace, "quotas")
        await scene.create("kept", "gone")
        with informer(list_quotas) as (running, told):
            await asyncio.to_thread(told.wait_for, lambda told: len(told.names("ADDED")) == 2)

            await scene.proxy.refuse()
            await scene.delete("gone")
            for number in range(3 * WINDOW):
                await scene.label("kept", str(number))
            await scene.create("new")
            await compact(etcd_url)
            await scene.proxy.listen()
            await asyncio.to_thread(told.wait_for, lambda told: "new" in told.names("ADDED"))
            await scene.create("after")
            await asyncio.to_thread(told.wait_for, lambda told: "after" in told.names("ADDED"))

            assert 410 in [getattr(error, "status", None) for error in told.errors]
            assert told.names("DELETED") == ["gone"]
            assert cached(running) == scene.stored()


async def test_a_watch_of_a_version_that_is_gone_is_an_error_of_its_own(
    scene, etcd_url: str
) -> None:
    await scene.create("first")
    version = scene.stored()[f"{scene.namespace}/first"]["metadata"]["resourceVersion"]
    for number in range(3 * WINDOW):
        await scene.label("first", str(number))
    await compact(etcd_url)

    def watch() -> list[Any]:
        with api_client(scene.server) as client:
            list_quotas = lister(client, scene.namespace, "quotas")
            stream = KUBERNETES.watch.Watch().stream(list_quotas, resource_version=version)
            return list(stream)

    with pytest.raises(KUBERNETES.client.ApiException) as gone:
        await asyncio.to_thread(watch)
    assert gone.value.status == 410
    assert "Expired" in gone.value.reason


async def test_a_watch_is_resumed_by_the_client_itself(scene, tmp_path) -> None:
    """`Watch.stream` without a timeout goes on after the server has ended it in the ordinary way."""
    seen: list[str] = []
    followed = threading.Event()

    def follow() -> None:
        with api_client(scene.server, scene.proxy.port) as client:
            resource = dynamic_client(client, tmp_path).resources.get(
                api_version=API_VERSION, kind="Quota"
            )
            version = "0"
            while len(seen) < 3:
                if seen:
                    followed.set()
                watched = resource.watch(
                    namespace=scene.namespace, resource_version=version, timeout=1
                )
                for event in watched:
                    version = event["object"].metadata.resourceVersion
                    seen.append(event["object"].metadata.name)

    await scene.create("one")
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(follow))
        # The first watch's own time is up, and another one follows.
        assert await asyncio.to_thread(followed.wait, 30)
        await scene.create("two", "three")

    assert seen == ["one", "two", "three"]


async def test_the_asynchronous_client_creates_watches_and_deletes(
    server, namespace, tmp_path
) -> None:
    kubeconfig = str(server.data_dir / "admin.kubeconfig")
    client = await KUBERNETES.aio.config.new_client_from_config(config_file=kubeconfig)
    async with client:
        dynamic = await KUBERNETES.aio.dynamic.DynamicClient(
            client, cache_file=str(tmp_path / "discovery.json")
        )
        quotas = await dynamic.resources.get(api_version=API_VERSION, kind="Quota")
        await quotas.create(body=a_quota(name="team", namespace=namespace))
        applied = a_quota(name="team", namespace=namespace, metrics={"gpu": "1"})
        await quotas.server_side_apply(body=applied, field_manager="aio")
        seen = []
        # To its end: a watch that is left has a connection that nobody closes.
        async for event in quotas.watch(namespace=namespace, timeout=2):
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "ADDED":
                await quotas.delete(namespace=namespace, name="team")

    assert seen == [("ADDED", "team"), ("DELETED", "team")]
