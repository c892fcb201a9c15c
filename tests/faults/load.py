"""Clients that create, resize, read and delete shoots on common quotas, and remember every answer.

Each client owns its objects, so that what it was told last is what has to be. Names are used once.
"""

import asyncio
import random
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp

from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.faults.promises import LABEL, Outcome, Promises
from tests.harness.api import Answer, Api

NAMESPACES = ("garden-a", "garden-b", "garden-c")
TOTAL = "total"
EACH = "each"
PAUSE_SECONDS = 0.2
"""After an answer that asks to come again."""


async def have_world(api: Api, *, room: int = 60) -> None:
    """A budget for all and one for each project; every project's binding names both."""
    await api.have(
        a_profile(),
        a_quota(name=TOTAL, metrics={"shoots": str(room), "cpu": str(room * 3)}),
        a_quota(name=EACH, scope="project", metrics={"cpu": str(room), "shoots": str(room // 2)}),
        *(a_binding(namespace=namespace, quotas=[TOTAL, EACH]) for namespace in NAMESPACES),
    )


class Load:
    """`apis`: one per replica; a client uses them all in turn."""

    def __init__(
        self, apis: Sequence[Api], *, seed: int, clients: int = 12, run: str = "r"
    ) -> None:
        self.promises = Promises()
        self._apis = apis
        self._seed = seed
        self._clients = clients
        self.run = run
        """What all names begin with."""
        self._stop = asyncio.Event()
        self._answers = 0
        self._waits = array("f")
        """Seconds of each request that was answered."""
        self._of_client = [0] * clients
        """Answers, each client's."""
        self._marks: list[tuple[int, Callable[[], None]]] = []

    @property
    def answers(self) -> int:
        return self._answers

    def summary(self) -> str:
        """Answers by verb and code; how long they took; whether a client was left behind."""
        waits = sorted(self._waits) or [0.0]
        half, late, last = (waits[int((len(waits) - 1) * part)] for part in (0.5, 0.99, 1))
        return (
            f"{self.promises.summary()}; seconds p50 {half:.3f}, p99 {late:.3f}, longest {last:.3f}; "
            f"{min(self._of_client)} to {max(self._of_client)} answers a client"
        )

    def stop(self) -> None:
        """No more requests. Leaving `running` does this, too."""
        self._stop.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The clients work while the block runs; leaving it waits for their last answers."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._clients):
                group.create_task(self._client(number))
            try:
                yield
            finally:
                self._stop.set()

    async def some_answers(self, count: int, *, seconds: float = 60) -> None:
        """Wait until so many more requests have been answered with a success or refusal."""
        reached = asyncio.Event()
        self._marks.append((self._answers + count, reached.set))
        async with asyncio.timeout(seconds):
            await reached.wait()

    async def _client(self, number: int) -> None:
        rng = random.Random(self._seed * 1000 + number)
        loop = asyncio.get_running_loop()
        mine: list[tuple[str, str]] = []
        serial = 0
        while not self._stop.is_set():
            api = rng.choice(self._apis)
            roll = rng.random()
            began = loop.time()
            if not mine or roll < 0.45:
                serial += 1
                name = f"{self.run}-{number}-{serial}"
                outcome = await self._create(api, rng, name, mine)
            else:
                outcome = await self._touch(api, rng, roll, mine)
            self._answered(outcome)
            if isinstance(outcome, Answer):
                self._waits.append(loop.time() - began)
                self._of_client[number] += 1
            if not isinstance(outcome, Answer) or outcome.status in {429, 503, 504, 507}:
                await asyncio.sleep(PAUSE_SECONDS * rng.random())

    async def _create(
        self, api: Api, rng: random.Random, name: str, mine: list[tuple[str, str]]
    ) -> Outcome:
        namespace = rng.choice(NAMESPACES)
        shoot = a_shoot(name=name, namespace=namespace)
        token = f"{name}-{rng.randrange(1 << 30)}"
        shoot["metadata"]["labels"] = {LABEL: token}
        outcome = await attempt(api.create(shoot))
        if self.promises.created(name, token, 1, outcome):
            mine.append((namespace, name))
        return outcome

    async def _touch(
        self, api: Api, rng: random.Random, roll: float, mine: list[tuple[str, str]]
    ) -> Outcome:
        index = rng.randrange(len(mine))
        namespace, name = mine[index]
        if roll < 0.6:
            size = rng.randint(1, 3)
            body = {"spec": {"cloud": {"aws": {"workers": [a_worker(maximum=size)]}}}}
            outcome = await attempt(api.patch("Shoot", namespace, name, body))
            self.promises.resized(name, size, outcome)
        elif roll < 0.75:
            outcome = await attempt(api.get("Shoot", namespace, name))
            self.promises.read(name, outcome)
        else:
            outcome = await attempt(api.delete("Shoot", namespace, name))
            self.promises.deleted(name, outcome)
            if isinstance(outcome, Answer) and outcome.status == 200:
                del mine[index]
        if name in self.promises.objects and not self.promises.objects[name].settled:
            # Nobody knows what will become of it: it is reconciled at the end.
            mine[:] = [entry for entry in mine if entry[1] != name]
        return outcome

    def _answered(self, outcome: Outcome) -> None:
        if not isinstance(outcome, Answer) or outcome.status >= 429:
            return
        self._answers += 1
        for count, action in tuple(self._marks):
            if self._answers >= count:
                self._marks.remove((count, action))
                action()


async def attempt(call: Awaitable[Answer]) -> Outcome:
    """An answer, or the exception in its place."""
    try:
        return await call
    except (OSError, ValueError, TimeoutError, aiohttp.ClientError) as error:
        return error
