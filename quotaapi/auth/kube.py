"""The one door to `kubernetes.aio`: requests to kube-apiserver, as who a kubeconfig or the pod says.

Objects are plain dicts; the client's models would cost more than the calls. Every call has a
deadline, and is made again once where the connection broke before an answer: what is asked here
can be asked twice.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from apis.meta import codec
from quotaapi.auth.asking import Answer
from quotaapi.auth.interface import ClusterAccessError

_log = logging.getLogger(__name__)

TIMEOUT_SECONDS: Final = 10.0
CONNECT_SECONDS: Final = 3.0
CONNECTIONS: Final = 100
LINE_BYTES: Final = 8 * 1024 * 1024
"""A watch's longest line: above etcd's largest object, twice escaped."""

APPLY: Final = "application/apply-patch+yaml"
"""JSON is YAML; kube-apiserver knows server-side apply by this name only."""

RELOAD_SECONDS: Final = 10.0
"""Credentials that are refused are read anew this often at most: tokens and certificates rotate."""


class KubeUnavailable(Exception):
    """kube-apiserver gave no answer, or none that says anything."""


class KubeClient:
    """Make it with `connect`, inside the event loop, and `close` it."""

    def __init__(
        self, kubeconfig: Path | None, client: ApiClient, monotonic: Callable[[], float]
    ) -> None:
        self._kubeconfig = kubeconfig
        self._client = client
        self._monotonic = monotonic
        self._loaded = monotonic()
        self._loading = asyncio.Lock()

    @classmethod
    async def connect(cls, kubeconfig: Path | None, monotonic: Callable[[], float]) -> "KubeClient":
        """None: as the pod's service account. Nothing is asked yet. Raises ClusterAccessError."""
        return cls(kubeconfig, await _load(kubeconfig), monotonic)

    @property
    def server(self) -> str:
        """The address that is asked."""
        return str(self._client.configuration.host)

    async def close(self) -> None:
        await _close(self._client)

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = "application/json",
        content_type: str = "application/json",
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> Answer:
        """Any answer of kube-apiserver's below 500 but 401 and 429. Raises KubeUnavailable."""
        headers = {"Accept": accept, "Content-Type": content_type}
        limits = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS)
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self._twice(method, path, body, query, headers, limits)
        except TimeoutError:
            raise KubeUnavailable(f"no answer within {timeout_seconds:g} s") from None
        if answer.status >= 500 or answer.status in (401, 429):
            raise KubeUnavailable(answer.message)
        return answer

    async def watch(
        self, path: str, *, query: Mapping[str, str], accept: str, seconds: int
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """The events of a watch until kube-apiserver ends it, about `seconds` later.

        Raises KubeUnavailable, also where the connection went silent.
        """
        asked = {**query, "watch": "true", "timeoutSeconds": str(seconds)}
        limits = aiohttp.ClientTimeout(
            total=seconds + TIMEOUT_SECONDS, sock_connect=CONNECT_SECONDS
        )
        headers = {"Accept": accept}
        try:
            response = await self._send("GET", path, None, asked, headers, limits)
            try:
                if response.status != 200:
                    raise KubeUnavailable(Answer(response.status, await _body(response)).message)
                async for line in _lines(response):
                    yield _decode(line)
            finally:
                response.close()
        except TimeoutError:
            raise KubeUnavailable("the watch went silent") from None
        except (aiohttp.ClientError, OSError) as error:
            raise KubeUnavailable(_words(error)) from error

    async def _twice(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
    ) -> Answer:
        answer = None
        for last in (False, True):
            try:
                response = await self._send(method, path, body, query, headers, limits)
                try:
                    answer = Answer(response.status, await _body(response))
                finally:
                    response.release()
            except TimeoutError:
                raise  # an OSError, too; the deadline is for both attempts
            except (aiohttp.ClientError, OSError) as error:
                refused = isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError))
                if last or (refused and not await self._reload()):
                    raise KubeUnavailable(_words(error)) from error
                continue
            if answer.status != 401 or last or not await self._reload():
                return answer
        raise KubeUnavailable("no answer")

    async def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        client = self._client
        method, url, header_params, sent, _ = await client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=dict(headers),
            body=body,
            auth_settings=["BearerToken"],
        )
        found = await client.call_api(
            method, url, header_params=header_params, body=sent, _request_timeout=limits
        )
        response: aiohttp.ClientResponse = found.response
        return response

    async def _reload(self) -> bool:
        """Read the credentials anew; False where that was done a moment ago, or cannot be done."""
        async with self._loading:
            if self._monotonic() - self._loaded < RELOAD_SECONDS:
                return False
            self._loaded = self._monotonic()
            try:
                fresh = await _load(self._kubeconfig)
            except ClusterAccessError as error:
                _log.warning("%s", error)
                return False
            old, self._client = self._client, fresh
            await _close(old)
            return True


async def _close(client: ApiClient) -> None:
    await client.close()  # type: ignore[no-untyped-call]


def _refuse_absent(kubeconfig: Path) -> None:
    """The loader takes an absent file for an empty one."""
    if not kubeconfig.exists():
        raise ClusterAccessError(f"{kubeconfig}: no such file")


async def _load(kubeconfig: Path | None) -> ApiClient:
    configuration = Configuration(
        connection_pool_maxsize=CONNECTIONS,
        # Proxies of the environment are for the world outside; a kubeconfig names its own.
        client_session_kwargs={"trust_env": False, "read_bufsize": 256 * 1024},
    )
    where = kubeconfig or "the pod's service account"
    if kubeconfig is not None:
        _refuse_absent(kubeconfig)
    try:
        if kubeconfig is None:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            await load_kube_config(  # type: ignore[no-untyped-call]
                config_file=str(kubeconfig),
                client_configuration=configuration,
                persist_config=False,
            )
        client = ApiClient(configuration)
    except ConfigException as error:
        raise ClusterAccessError(f"{where}: {error}") from error
    # Beside its own error the loader raises whatever it stumbles over in a malformed file.
    except Exception as error:
        raise ClusterAccessError(
            f"{where} cannot be used as a kubeconfig: {_words(error)}"
        ) from error
    client.user_agent = "quotaapi"
    return client


async def _body(response: aiohttp.ClientResponse) -> Any:
    data = await response.read()
    try:
        return codec.decode_json(data).value if data else None
    except codec.DecodeError:
        # A page of some other server: its first words, on one line.
        return {"message": " ".join(data[:200].decode(errors="replace").split())}


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """aiohttp's own lines end at its buffer's size."""
    pending = b""
    async for chunk in response.content.iter_any():
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield line
        if len(pending) > LINE_BYTES:
            raise KubeUnavailable("a watch's line is too long")


def _decode(line: bytes) -> Mapping[str, Any]:
    try:
        event = codec.decode_json(line).value
    except codec.DecodeError as error:
        raise KubeUnavailable(f"a watch's line is no JSON: {error}") from error
    if not isinstance(event, Mapping) or not isinstance(event.get("object"), Mapping):
        raise KubeUnavailable("a watch's line is no event")
    return event


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
