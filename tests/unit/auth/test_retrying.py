"""What is read from the cluster again and again, while the cluster does not let it be read."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from quotaapi.auth.asking import Answer
from quotaapi.auth.clusterconfig import ClusterConfig
from quotaapi.auth.following import follow
from quotaapi.auth.kube import KubeUnavailable
from quotaapi.auth.reachability import Reachability
from quotaapi.auth.retrying import Retry

UNAUTHORIZED = "HTTP 401: Unauthorized"


class Enough(Exception):
    """The loop has shown what it does."""


class Sleeper:
    """Notes the pauses and ends the loop after some of them."""

    def __init__(self, pauses: int) -> None:
        self.seconds: list[float] = []
        self._left = pauses

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if len(self.seconds) == self._left:
            raise Enough


class Refusing:
    """A client of a cluster that knows its service account no more."""

    async def request(self, *_what: object, **_how: object) -> Answer:
        raise KubeUnavailable(UNAUTHORIZED)


class ListingOnly:
    """A client that may list and not watch."""

    async def request(self, *_what: object, **_how: object) -> Answer:
        return Answer(200, {"items": [], "metadata": {"resourceVersion": "1"}})

    async def watch(
        self, *_what: object, **_how: object
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        for event in list[Mapping[str, Any]]():
            yield event
        raise KubeUnavailable(UNAUTHORIZED)


class Nobody:
    def replace(self, items: list[Mapping[str, Any]]) -> None: ...
    def put(self, item: Mapping[str, Any]) -> None: ...
    def remove(self, item: Mapping[str, Any]) -> None: ...
    def lost(self, why: str) -> None: ...


def the_config(sleep: Callable[[float], Awaitable[None]]) -> Awaitable[None]:
    client: Any = Refusing()
    return ClusterConfig(client, Reachability(), lambda _trust: None, sleep=sleep).run()


def the_namespaces(sleep: Callable[[float], Awaitable[None]]) -> Awaitable[None]:
    client: Any = Refusing()
    return follow(client, "/api/v1/namespaces", Nobody(), sleep=sleep)


def the_namespaces_that_may_be_listed(
    sleep: Callable[[float], Awaitable[None]],
) -> Awaitable[None]:
    client: Any = ListingOnly()
    return follow(client, "/api/v1/namespaces", Nobody(), sleep=sleep)


@pytest.mark.parametrize("what", [the_config, the_namespaces, the_namespaces_that_may_be_listed])
async def test_it_is_tried_ever_more_rarely_and_warned_of_once(what, caplog) -> None:
    sleep = Sleeper(6)

    with pytest.raises(Enough):
        await asyncio.wait_for(what(sleep), 5)

    assert sleep.seconds == [1, 2, 4, 8, 10, 10]
    assert [UNAUTHORIZED in record.getMessage() for record in caplog.records] == [True]


def test_each_new_reason_is_warned_of_and_the_end_is_told(caplog) -> None:
    caplog.set_level(logging.INFO)
    retry = Retry("it")

    pauses = [retry.failed(why) for why in ("away", "away", "refused")]
    retry.worked()
    retry.worked()

    assert (pauses, retry.failed("away")) == ([1, 2, 4], 1)
    assert [record.levelname for record in caplog.records] == [
        "WARNING",
        "WARNING",
        "INFO",
        "WARNING",
    ]
