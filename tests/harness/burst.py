"""Many clients creating at once."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Answer, Api, Object

CLIENTS = 50
CREATES = 1000
ROOM = 700


async def burst(
    apis: Sequence[Api],
    objects: Iterable[Object],
    clients: int = CLIENTS,
    *,
    answered: Callable[[int], None] = lambda _count: None,
) -> dict[str, Answer | Exception]:
    """Every client takes the next object when it has an answer; clients are spread over `apis`.

    Answers by name; a request that got none (the server went away) has its exception.
    `answered` is told how many answers there are, after each.
    """
    waiting = iter(list(objects))
    answers: dict[str, Answer | Exception] = {}

    async def client(api: Api) -> None:
        for obj in waiting:
            name = obj["metadata"]["name"]
            try:
                answers[name] = await api.create(obj)
            except (OSError, ValueError, TimeoutError, *api.CLIENT_ERRORS) as error:
                answers[name] = error
            answered(len(answers))

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(client(apis[number % len(apis)]))
    return answers


def split(answers: dict[str, Answer | Exception]) -> tuple[set[str], set[str], set[str]]:
    """The names that were created (201), refused by a quota (403), and those of which it is not known."""
    created: set[str] = set()
    refused: set[str] = set()
    unknown: set[str] = set()
    for name, answer in answers.items():
        status = answer.status if isinstance(answer, Answer) else 0
        {201: created, 403: refused}.get(status, unknown).add(name)
    return created, refused, unknown


def shoots() -> list[Object]:
    return [a_shoot(name=f"burst-{n}", binding="burst") for n in range(CREATES)]


async def have_quota(api: Api) -> None:
    await api.have(
        a_profile(),
        a_quota(name="burst", metrics={"shoots": str(ROOM)}),
        a_binding(name="burst", quotas=["burst"]),
    )


async def assert_kept(api: Api, answers: dict[str, Answer | Exception]) -> set[str]:
    """What was answered is so; of what was not answered either may be. Answers what exists."""
    created, refused, _ = split(answers)
    stored = {shoot["metadata"]["name"] for shoot in await api.items("Shoot")}
    assert created <= stored
    assert not refused & stored
    assert len(stored) <= ROOM
    assert await api.used("garden-trial", "burst") == {"shoots": str(len(stored))}
    return stored
