"""Quota admission the naive way, to compare with: each create for itself, against what a cache shows.

As kube-apiserver did it before it batched: take the quota from a cache that a watch feeds, add what
is asked for, write the quota's status if it is still at the version that was seen; where it is not, wait a
moment, read it anew and try again. Then write the object, in a write of its own. A crash between
the two leaves a charge without an object; nothing here mends that.
"""

import asyncio
import base64
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from apis.meta.codec import decode_json, encode

RETRIES: Final = 10
PAUSE_SECONDS: Final = (0.070, 0.100)
"""Between two attempts, at random, so that those who collided do not collide again."""

_QUOTA: Final = "/naive/quotas/one"


class QuotaExceededError(Exception):
    """The limit is reached, or too many others wrote the quota meanwhile."""


@dataclass(slots=True)
class Costs:
    """`updates`: attempts to write the quota, `conflicts` of them in vain; `transactions`: all of etcd's."""

    updates: int = 0
    conflicts: int = 0
    transactions: int = 0
    reads: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    used: int
    mod_revision: int


class Naive:
    """An admission, a cache and a store, on a real etcd over its JSON gateway. `run` feeds the cache."""

    def __init__(self, session: aiohttp.ClientSession, *, limit: int, rng: random.Random) -> None:
        self.costs = Costs()
        self._session = session
        self._limit = limit
        self._rng = rng
        self._cached = Seen(0, 0)
        self._filled = asyncio.Event()

    async def prepare(self) -> None:
        await self._call("kv/put", {"key": _key(_QUOTA), "value": _value(0)})

    async def run(self) -> None:
        """Watch the quota for as long as it is not cancelled."""
        self._cached = await self._read()
        self._filled.set()
        request = {"create_request": {"key": _key(_QUOTA)}}
        async with self._session.post("/v3/watch", data=encode(request)) as stream:
            async for line in stream.content:
                for event in decode_json(line).value["result"].get("events", ()):
                    self._cached = _seen(event["kv"])

    async def ready(self) -> None:
        await self._filled.wait()

    async def create(self, name: str, obj: Mapping[str, Any]) -> None:
        """Raises QuotaExceededError."""
        await self._charge()
        # The object's own write: it must not exist yet.
        await self._compare_and_put(f"/naive/objects/{name}", 0, encode(obj))

    async def _charge(self) -> None:
        seen = self._cached
        for _ in range(RETRIES):
            if seen.used >= self._limit:
                raise QuotaExceededError("exceeded quota")
            self.costs.updates += 1
            value = str(seen.used + 1).encode()
            if await self._compare_and_put(_QUOTA, seen.mod_revision, value):
                return
            self.costs.conflicts += 1
            await asyncio.sleep(self._rng.uniform(*PAUSE_SECONDS))
            seen = await self._read()
        raise QuotaExceededError("too many others write the quota")

    async def _read(self) -> Seen:
        self.costs.reads += 1
        answer = await self._call("kv/range", {"key": _key(_QUOTA)})
        return _seen(answer["kvs"][0])

    async def _compare_and_put(self, key: str, mod_revision: int, value: bytes) -> bool:
        self.costs.transactions += 1
        answer = await self._call(
            "kv/txn",
            {
                "compare": [{"key": _key(key), "target": "MOD", "mod_revision": str(mod_revision)}],
                "success": [
                    {"request_put": {"key": _key(key), "value": base64.b64encode(value).decode()}}
                ],
            },
        )
        return bool(answer.get("succeeded"))

    async def _call(self, method: str, request: Mapping[str, Any]) -> dict[str, Any]:
        async with self._session.post(f"/v3/{method}", data=encode(request)) as response:
            response.raise_for_status()
            answer: dict[str, Any] = decode_json(await response.read()).value
            return answer


async def burst(
    etcd_url: str, objects: Sequence[tuple[str, Mapping[str, Any]]], *, seed: int
) -> tuple[Costs, float]:
    """All objects at once, none of them refused; what it cost, and the seconds until the last."""
    async with aiohttp.ClientSession(etcd_url) as session:
        naive = Naive(session, limit=1_000_000, rng=random.Random(seed))  # noqa: S311 -- keeps no secret
        await naive.prepare()
        watching = asyncio.ensure_future(naive.run())
        try:
            await naive.ready()
            naive.costs = Costs()
            begin = asyncio.get_running_loop().time()
            await asyncio.gather(*(naive.create(name, obj) for name, obj in objects))
            return naive.costs, asyncio.get_running_loop().time() - begin
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching


def _seen(kv: Mapping[str, str]) -> Seen:
    return Seen(int(base64.b64decode(kv["value"])), int(kv["mod_revision"]))


def _key(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _value(used: int) -> str:
    return base64.b64encode(str(used).encode()).decode()
