"""The official Python client, led through a proxy that can cut its connections."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes
import kubernetes.aio
import kubernetes.aio.dynamic
import kubernetes.dynamic
import kubernetes.informer

from apis.garden.v1beta1.register import GROUP, VERSION
from apis.meta.transaction import Object
from tests.harness.server import ServerProcess

SECONDS = 60.0

KUBERNETES: Any = kubernetes
"""The package without its types, which most of it has none of."""


@contextmanager
def api_client(server: ServerProcess, port: int = 0) -> Iterator[Any]:
    """The admin's; over `port`, where a proxy leads to the server."""
    client = KUBERNETES.config.new_client_from_config(
        config_file=str(server.data_dir / "admin.kubeconfig")
    )
    if port:
        client.configuration.host = f"https://127.0.0.1:{port}"
    try:
        yield client
    finally:
        client.rest_client.pool_manager.clear()


def dynamic_client(client: Any, directory: Path) -> Any:
    """`directory`: for what it learns of the server, which must be of this one."""
    return KUBERNETES.dynamic.DynamicClient(client, cache_file=str(directory / "discovery.json"))


def lister(client: Any, namespace: str, plural: str) -> Callable[..., Any]:
    """What SharedInformer wants of a typed API, for a kind without one."""
    api = KUBERNETES.client.CustomObjectsApi(client)

    def list_objects(**options: Any) -> Any:
        """:rtype: object"""  # by this the client's Watch knows what it reads
        found = api.list_namespaced_custom_object(GROUP, VERSION, namespace, plural, **options)
        if options.get("watch"):
            return found
        version = found["metadata"]["resourceVersion"]
        metadata = SimpleNamespace(resource_version=version)
        return SimpleNamespace(items=found["items"], metadata=metadata)

    return list_objects


@dataclass(slots=True)
class Told:
    """What an informer told its handlers, in order; others may wait for more."""

    events: list[tuple[str, Object]] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, event: str) -> Callable[[Object], None]:
        def taken(obj: Object) -> None:
            with self._changed:
                self.events.append((event, obj))
                self._changed.notify_all()

        return taken

    def fail(self, error: BaseException) -> None:
        with self._changed:
            self.errors.append(error)
            self._changed.notify_all()

    def wait_for(self, holds: Callable[["Told"], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self), SECONDS), self

    def names(self, event: str) -> list[str]:
        return [obj["metadata"]["name"] for told, obj in self.events if told == event]


@contextmanager
def informer(list_objects: Callable[..., Any]) -> Iterator[tuple[Any, Told]]:
    told = Told()
    running = KUBERNETES.informer.SharedInformer(list_objects)
    for event in ("ADDED", "MODIFIED", "DELETED"):
        running.add_event_handler(event, told.take(event))
    running.add_event_handler("ERROR", told.fail)
    running.start()
    try:
        yield running, told
    finally:
        running.stop()
