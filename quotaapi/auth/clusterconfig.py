"""Whom the cluster trusts to authenticate: ConfigMap kube-system/extension-apiserver-authentication.

Read at the start, watched, and read again every minute whatever the watch says. While it cannot
be read, what was read last counts; before that, nobody's certificate does.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from apis.meta import codec
from quotaapi.auth.kube import KubeClient, KubeUnavailable
from quotaapi.auth.reachability import Reachability
from quotaapi.auth.requestheader import RequestHeaders
from quotaapi.auth.retrying import Retry
from quotaapi.trust import Authorities

_log = logging.getLogger(__name__)

NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"
COLLECTION: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
REREAD_SECONDS: Final = 60
RETRY_SECONDS: Final = 2.0
MIN_PAUSE_SECONDS: Final = 0.2
"""Between two reads; a ConfigMap that changes all the time is read at most this often."""


@dataclass(frozen=True, slots=True)
class ClusterTrust:
    """`client`: who signs users' certificates; `proxy`: who signs kube-apiserver's front proxy's."""

    client: Authorities
    proxy: Authorities
    headers: RequestHeaders | None


class Malformed(ValueError):
    """A ConfigMap that is not what it should be."""


NOBODY: Final = ClusterTrust(Authorities(), Authorities(), None)


def parse(data: Mapping[str, str], before: ClusterTrust) -> tuple[ClusterTrust, str]:
    """What counts by this ConfigMap, and what is wrong with it.

    The client CA, and what is said of the front proxy, are each taken by itself: what is malformed
    is as `before`. Without a requestheader CA nobody speaks for others.
    """
    client, proxy, headers = before.client, before.proxy, before.headers
    wrong = []
    try:
        client = _authorities(data, "client-ca-file")
    except Malformed as error:
        wrong.append(str(error))
    try:
        proxy, headers = _front_proxy(data)
    except Malformed as error:
        wrong.append(str(error))
    return ClusterTrust(client, proxy, headers), "; ".join(wrong)


def _front_proxy(data: Mapping[str, str]) -> tuple[Authorities, RequestHeaders | None]:
    """Raises Malformed; an authority without the names that it may bear admits too many."""
    proxy = _authorities(data, "requestheader-client-ca-file")
    if not proxy.pem:
        return proxy, None
    return proxy, RequestHeaders(
        allowed_names=frozenset(_names(data, "requestheader-allowed-names")),
        user=_names(data, "requestheader-username-headers"),
        uid=_names(data, "requestheader-uid-headers"),
        group=_names(data, "requestheader-group-headers"),
        extra_prefix=_names(data, "requestheader-extra-headers-prefix"),
    )


def _authorities(data: Mapping[str, str], key: str) -> Authorities:
    try:
        return Authorities(data.get(key, "").encode())
    except ValueError as error:
        raise Malformed(f"{key}: {error}") from error


def _names(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    text = data.get(key, "")
    if not text.strip():
        return ()
    try:
        names = codec.decode_json(text.encode()).value
    except codec.DecodeError as error:
        raise Malformed(f"{key}: {error}") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Malformed(f"{key} is no list of names")
    return tuple(names)


class ClusterConfig:
    """`run` it; `changed` is called with every new state; raises OSError where it cannot be used."""

    def __init__(
        self,
        client: KubeClient,
        reachability: Reachability,
        changed: Callable[[ClusterTrust], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._reachability = reachability
        self._changed = changed
        self._sleep = sleep
        self._data: Mapping[str, str] | None = None
        self._trust = NOBODY
        self._why = "it was not read yet"
        """Until the whole of it was good once."""

    def headers(self) -> RequestHeaders | None:
        return self._trust.headers

    def check(self) -> str:
        """What was read once serves until it is read again."""
        return f"ConfigMap {NAMESPACE}/{NAME}: {self._why}" if self._why else ""

    async def run(self) -> None:
        retry = Retry(f"ConfigMap {NAMESPACE}/{NAME}")
        while True:
            try:
                version = await self._read()
            except KubeUnavailable as error:
                self._why = str(error) if self._why else ""
                await self._sleep(retry.failed(str(error)))
                continue
            retry.worked()
            await self._sleep(MIN_PAUSE_SECONDS)
            await self._wait_changed(version)

    async def _read(self) -> str:
        """The version that was read. Raises KubeUnavailable."""
        try:
            answer = await self._client.request("GET", f"{COLLECTION}/{NAME}")
        except KubeUnavailable as error:
            self._reachability.failed(str(error))
            raise
        self._reachability.answered()
        if not answer.ok:
            raise KubeUnavailable(answer.message)
        data = answer.body.get("data") or {}
        if data != self._data:
            self._take(data)
        version: str = answer.body["metadata"].get("resourceVersion", "")
        return version

    def _take(self, data: Mapping[str, str]) -> None:
        """A half-written bundle must not lock out those whom the last good one lets in."""
        trust, wrong = parse(data, self._trust)
        self._data, self._trust = data, trust
        try:
            self._changed(trust)
        except OSError as error:
            wrong = str(error)
        if wrong:
            self._why = wrong if self._why else ""
            _log.warning("ConfigMap %s/%s is malformed: %s", NAMESPACE, NAME, wrong)
            return
        self._why = ""
        _log.info("ConfigMap %s/%s read: its authorities count from now on", NAMESPACE, NAME)

    async def _wait_changed(self, version: str) -> None:
        """Until the ConfigMap changed, or it is time to read it anyway."""
        query: dict[str, Any] = {
            "fieldSelector": f"metadata.name={NAME}",
            "resourceVersion": version,
        }
        events = self._client.watch(
            COLLECTION, query=query, accept="application/json", seconds=REREAD_SECONDS
        )
        try:
            async with aclosing(events):
                async for _event in events:
                    return
        except KubeUnavailable as error:
            # The next read tells whether that was the watch's fault or kube-apiserver is away.
            _log.info("the watch of ConfigMap %s/%s ended: %s", NAMESPACE, NAME, error)
            await self._sleep(RETRY_SECONDS)
