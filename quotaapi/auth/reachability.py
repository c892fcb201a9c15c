"""Whether kube-apiserver answers: learned from every call, and told to /readyz."""

import logging
from collections.abc import Coroutine, Mapping
from typing import Any, Final

from apis.meta import errors
from quotaapi.auth.asking import Answer, Away, unavailable
from quotaapi.auth.kube import KubeClient, KubeUnavailable

_log = logging.getLogger(__name__)

TOLERATED_FAILURES: Final = 2
"""So many calls in a row may fail before the server says that it is not ready: one may be lost."""


class Reachability:
    def __init__(self) -> None:
        self._failures = 0
        self._why = "it has not answered yet"
        self._answered = False

    def check(self) -> str:
        if self._answered and self._failures < TOLERATED_FAILURES:
            return ""
        return f"kube-apiserver: {self._why}"

    def answered(self) -> None:
        self._answered, self._failures = True, 0

    def failed(self, why: str) -> None:
        self._failures += 1
        self._why = why


class ClusterAsker:
    """`asking.Asker` by a client; what comes of it is learned."""

    def __init__(self, client: KubeClient, reachability: Reachability) -> None:
        self._client = client
        self._reachability = reachability

    async def get(self, path: str, *, accept: str = "application/json") -> Answer:
        return await self._told(self._client.request("GET", path, accept=accept))

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        return await self._told(self._client.request("POST", path, body))

    def useless(self, answer: Answer) -> errors.StatusError:
        self._reachability.failed(answer.message)
        _log.warning("kube-apiserver's answer decides nothing: %s", answer.message)
        return unavailable()

    async def _told(self, request: Coroutine[Any, Any, Answer]) -> Answer:
        try:
            answer = await request
        except KubeUnavailable as error:
            self._reachability.failed(str(error))
            raise Away from error
        self._reachability.answered()
        return answer
