"""List, then watch from there, for ever: how what the cluster holds is kept up with."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, Protocol

from quotaapi.auth.asking import METADATA_LIST, METADATA_ONLY
from quotaapi.auth.kube import KubeClient, KubeUnavailable
from quotaapi.auth.retrying import Retry

WATCH_SECONDS: Final = 300
PAUSE_SECONDS: Final = 1.0
"""After a watch, which may have ended at once and would otherwise be a busy loop."""

Object = Mapping[str, Any]


class Follower(Protocol):
    """Is told everything there is, then every change. Synchronous: a state is seen whole."""

    def replace(self, items: list[Object]) -> None: ...
    def put(self, item: Object) -> None: ...
    def remove(self, item: Object) -> None: ...
    def lost(self, why: str) -> None:
        """Neither list nor watch works for now; the state is as old as the last call."""
        ...


async def follow(
    client: KubeClient,
    path: str,
    follower: Follower,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    watch_seconds: int = WATCH_SECONDS,
) -> None:
    """Metadata only. Runs until it is cancelled."""
    version = ""
    retry = Retry(path)
    while True:
        pause_seconds = PAUSE_SECONDS
        try:
            if not version:
                version = await _list(client, path, follower)
            events = _events(client, path, version, watch_seconds)
            version = await _apply(events, follower, version, retry.worked)
            retry.worked()
        except KubeUnavailable as error:
            follower.lost(str(error))
            pause_seconds = retry.failed(str(error))
            version = ""
        await sleep(pause_seconds)


async def _list(client: KubeClient, path: str, follower: Follower) -> str:
    answer = await client.request("GET", path, accept=f"{METADATA_LIST},application/json")
    if not answer.ok:
        raise KubeUnavailable(answer.message)
    follower.replace(list(answer.body.get("items") or ()))
    version: str = answer.body.get("metadata", {}).get("resourceVersion", "")
    return version


def _events(
    client: KubeClient, path: str, version: str, seconds: int
) -> AsyncGenerator[Mapping[str, Any], None]:
    query = {"resourceVersion": version, "allowWatchBookmarks": "true"}
    accept = f"{METADATA_ONLY},application/json"
    return client.watch(path, query=query, accept=accept, seconds=seconds)


async def _apply(
    events: AsyncGenerator[Mapping[str, Any], None],
    follower: Follower,
    version: str,
    worked: Callable[[], None],
) -> str:
    """The version to go on from; empty: list again, that version is gone. `worked`: not the list
    alone, which may be allowed where the watch is not."""
    async with aclosing(events):
        async for event in events:
            worked()
            kind, item = event.get("type"), event["object"]
            if kind == "ERROR":
                return ""
            if kind in ("ADDED", "MODIFIED"):
                follower.put(item)
            elif kind == "DELETED":
                follower.remove(item)
            version = item.get("metadata", {}).get("resourceVersion", version)
    return version
