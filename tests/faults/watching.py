"""A client that keeps a copy of a collection by list and watch, as informers do, and checks every step."""

import asyncio
import random
from dataclasses import dataclass, field

import aiohttp

from apis.meta import codec
from tests.harness.api import Api, Object
from tests.harness.server import GROUP_PATH

Change = tuple[int, str, str]
"""resourceVersion, type, name."""


@dataclass(slots=True)
class Stretch:
    """What came between a list and the 410 (or the end) that made the list void.

    `start` is the list's version: after it nothing is missing and nothing comes twice.
    """

    start: int
    changes: list[Change] = field(default_factory=list)


class Informer:
    """`run` until cancelled. It disconnects at random, reads slowly at times, and resumes."""

    def __init__(
        self, sessions: list[aiohttp.ClientSession], rng: random.Random, *, slow: bool = False
    ) -> None:
        self._sessions = sessions
        self._rng = rng
        self.slow = slow
        self.stretches: list[Stretch] = []
        self.copy: dict[str, int] = {}
        self.version = 0
        self.resumed = 0
        self.violations: list[str] = []

    async def run(self) -> None:
        while True:
            session = self._rng.choice(self._sessions)
            try:
                if not self.version:
                    await self._list(session)
                await self._watch(session)
            except (OSError, TimeoutError, aiohttp.ClientError):
                await asyncio.sleep(0.1 * self._rng.random())
            self.resumed += 1

    async def _list(self, session: aiohttp.ClientSession) -> None:
        answer = await Api(session).request("GET", "shoots")
        if answer.status != 200:
            await asyncio.sleep(0.1)
            raise TimeoutError
        self.version = int(answer.body["metadata"]["resourceVersion"])
        self.copy = {_name(obj): _version(obj) for obj in answer.body["items"]}
        self.stretches.append(Stretch(self.version))

    async def _watch(self, session: aiohttp.ClientSession) -> None:
        params = {"watch": "1", "resourceVersion": str(self.version), "allowWatchBookmarks": "1"}
        leave_after = self._rng.choice([1, 5, 50, 10_000])
        async with session.get(f"{GROUP_PATH}/shoots", params=params) as answer:
            if answer.status != 200:
                # The version is of another replica, which is ahead: it will come.
                await asyncio.sleep(0.2)
                return
            seen = 0
            async with asyncio.timeout(self._rng.uniform(0.5, 8)):
                while line := await answer.content.readline():
                    if not self._take(codec.decode_json(line).value):
                        return
                    seen += 1
                    if seen >= leave_after:
                        return
                    if self.slow:
                        await asyncio.sleep(0.05)

    def _take(self, event: Object) -> bool:
        """Whether the watch goes on."""
        kind, obj = event["type"], event["object"]
        if kind == "ERROR":
            if obj.get("code") == 410:
                self.version = 0
            return False
        version = _version(obj)
        if version < self.version or (kind != "BOOKMARK" and version == self.version):
            self.violations.append(f"{kind} of {version} after {self.version}")
        self.version = version
        if kind == "BOOKMARK":
            return True
        name = _name(obj)
        known = name in self.copy
        if (kind == "ADDED") == known:
            self.violations.append(f"{kind} of {name} at {version}, known: {known}")
        if kind == "DELETED":
            self.copy.pop(name, None)
        else:
            self.copy[name] = version
        self.stretches[-1].changes.append((version, kind, name))
        return True

    def compare(self, history: list[Change]) -> list[str]:
        """What is missing, double or out of order against etcd's own history."""
        problems = list(self.violations)
        for index, stretch in enumerate(self.stretches):
            last = stretch.changes[-1][0] if stretch.changes else stretch.start
            expected = [change for change in history if stretch.start < change[0] <= last]
            if stretch.changes != expected:
                missing = sorted(set(expected) - set(stretch.changes))[:5]
                more = sorted(set(stretch.changes) - set(expected))[:5]
                problems.append(f"stretch {index}: missing {missing}, more {more}")
        return problems


PLACES = (
    "shoots",
    "namespaces/hose-0/shoots",
    "namespaces/garden-a/shoots",
    "quotas",
    "quotausages",
)
MANNERS: tuple[dict[str, str], ...] = (
    {},
    {"labelSelector": "serial"},
    # From now on, without what exists.
    *3 * ({"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"},),
)


async def pass_by(session: aiohttp.ClientSession, rng: random.Random) -> None:
    """Watch something for a moment, quickly or slowly, and leave without a word; again until cancelled."""
    while True:
        where = f"{GROUP_PATH}/{rng.choice(PLACES)}"
        params = {"watch": "1", **rng.choice(MANNERS)}
        pause = rng.choice([0.0, 0.0, 0.5])
        try:
            async with (
                asyncio.timeout(rng.uniform(0.1, 5)),
                session.get(where, params=params) as answer,
            ):
                assert answer.status == 200, answer
                async for _ in answer.content.iter_any():
                    await asyncio.sleep(pause)
        except (OSError, TimeoutError, aiohttp.ClientError):
            pass


def _name(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


async def caught_up(informers: list[Informer], version: int, *, seconds: float = 60) -> None:
    """Wait until all have seen everything up to `version`."""
    async with asyncio.timeout(seconds):
        while any(informer.version < version for informer in informers):
            await asyncio.sleep(0.1)  # other processes: there is nothing to wait on
