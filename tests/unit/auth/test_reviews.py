"""How long decisions of the cluster hold, and what is asked."""

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest
from multidict import CIMultiDict

from admission.plugins.lookups import Phase
from apis.meta.errors import StatusError
from apis.meta.request import UserInfo
from quotaapi.auth.accessreview import AccessReviewAuthorizer, ClusterReferences
from quotaapi.auth.asking import Answer, unavailable
from quotaapi.auth.namespaces import CONFIRMS_DELETION, ClusterNamespaces
from quotaapi.auth.tokenreview import TokenReviewAuthenticator
from quotaapi.endpoints.requestinfo import parse

ALICE = UserInfo("alice", ("dev",))


class Asker:
    """`quotaapi.auth.asking.Asker` with an answer of the test's."""

    def __init__(self, status: Mapping[str, Any] | None = None, *, code: int = 201) -> None:
        self.answer = Answer(code, {"status": status})
        self.asked: list[Any] = []

    async def get(self, path: str, *, accept: str = "application/json") -> Answer:
        self.asked.append(path)
        return self.answer

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        self.asked.append(body["spec"])
        return self.answer

    def useless(self, answer: Answer) -> StatusError:
        return unavailable()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_right_and_its_lack_hold_for_ten_seconds(allowed) -> None:
    asker, clock = Asker({"allowed": allowed}), Clock()
    info = parse("GET", "/apis")
    found = []
    async with asyncio.TaskGroup() as tasks:
        authorizer = AccessReviewAuthorizer(asker, monotonic=clock, spawn=tasks.create_task)
        for clock.now in (0.0, 9.9, 10.0):
            decision = await authorizer.authorize(ALICE, info)
            found.append((len(asker.asked), decision.allowed))

    assert found == [(1, allowed), (1, allowed), (2, allowed)]


async def test_a_token_that_is_no_text_is_a_401_without_asking() -> None:
    asker = Asker({"authenticated": True, "user": {"username": "bot"}})
    async with asyncio.TaskGroup() as tasks:
        authenticator = TokenReviewAuthenticator(asker, monotonic=Clock(), spawn=tasks.create_task)
        with pytest.raises(StatusError) as caught:
            await authenticator.authenticate(Bearer("\udcff"))

    assert (caught.value.code, asker.asked) == (401, [])


@pytest.mark.parametrize("user", [{"username": "bot"}, None])
async def test_a_token_holds_for_ten_seconds_accepted_or_not(user) -> None:
    asker, clock = Asker({"authenticated": user is not None, "user": user}), Clock()
    times = []
    async with asyncio.TaskGroup() as tasks:
        tokens = TokenReviewAuthenticator(asker, monotonic=clock, spawn=tasks.create_task)
        for clock.now in (0.0, 9.9, 10.0):
            with nullcontext() if user else pytest.raises(StatusError, match="Unauthorized"):
                await tokens.authenticate(Bearer("t"))
            times.append(len(asker.asked))

    assert times == [1, 1, 2]


class Bearer:
    subject = proxy = None
    stranger = False

    def __init__(self, token: str) -> None:
        self.headers = CIMultiDict({"Authorization": f"Bearer {token}"})


async def test_a_denied_that_is_also_allowed_is_denied() -> None:
    asker = Asker({"allowed": True, "denied": True, "reason": "no"})
    async with asyncio.TaskGroup() as tasks:
        authorizer = AccessReviewAuthorizer(asker, monotonic=Clock(), spawn=tasks.create_task)
        decision = await authorizer.authorize(ALICE, parse("GET", "/apis"))

    assert (decision.allowed, decision.reason) == (False, "no")


async def test_a_question_of_great_length_is_not_kept() -> None:
    asker = Asker({"allowed": True})
    info = parse("GET", "/" + "x" * 10_001)
    async with asyncio.TaskGroup() as tasks:
        authorizer = AccessReviewAuthorizer(asker, monotonic=Clock(), spawn=tasks.create_task)
        for _ in range(2):
            await authorizer.authorize(ALICE, info)

    assert len(asker.asked) == 2


@pytest.mark.parametrize("name", ["..", "a/b", "a?b", "", "A"])
async def test_no_path_is_made_of_what_is_no_name(name) -> None:
    asker = Asker(code=200)
    async with asyncio.TaskGroup() as tasks:
        authorizer = AccessReviewAuthorizer(asker, monotonic=Clock(), spawn=tasks.create_task)
        namespaces = ClusterNamespaces(asker, monotonic=Clock(), spawn=tasks.create_task)
        exists = await ClusterReferences(authorizer, asker).secret_exists("ns", name)
        phase = await namespaces.phase(name)

    assert (exists, phase, asker.asked) == (False, None, [])


def a_namespace(name: str, *, terminating: bool = False) -> dict[str, Any]:
    metadata = {"name": name} | ({"deletionTimestamp": "t"} if terminating else {})
    return {"metadata": metadata}


async def test_a_namespace_that_was_seen_ending_and_lives_is_looked_up_for_a_while() -> None:
    asker, clock = Asker(code=200), Clock()
    asker.answer = Answer(200, a_namespace("ns"))
    async with asyncio.TaskGroup() as tasks:
        namespaces = ClusterNamespaces(asker, monotonic=clock, spawn=tasks.create_task)
        namespaces.replace([a_namespace("ns")])
        known = await namespaces.phase("ns")
        namespaces.put(a_namespace("ns", terminating=True))
        ending = await namespaces.phase("ns")
        namespaces.remove(a_namespace("ns"))
        namespaces.put(a_namespace("ns"))
        doubted = await namespaces.phase("ns"), len(asker.asked)
        clock.now = 31.0
        believed = await namespaces.phase("ns"), len(asker.asked)

    assert (known, ending) == (Phase.ACTIVE, Phase.TERMINATING)
    assert (doubted, believed) == ((Phase.ACTIVE, 1), (Phase.ACTIVE, 1))


@pytest.mark.parametrize(
    ("value", "confirms"),
    [(None, None), ("true", True), ("1", True), ("false", False), ("F", False), ("yes!", True)],
)
async def test_a_namespace_may_ask_for_deletions_to_be_confirmed(value, confirms) -> None:
    asker = Asker(code=200)
    found = a_namespace("followed")
    if value is not None:
        found["metadata"]["annotations"] = {CONFIRMS_DELETION: value}
    asker.answer = Answer(200, found)
    async with asyncio.TaskGroup() as tasks:
        namespaces = ClusterNamespaces(asker, monotonic=Clock(), spawn=tasks.create_task)
        namespaces.put(found)
        answers = [await namespaces.confirms_deletion(name) for name in ("followed", "looked-up")]

    assert (answers, len(asker.asked)) == ([confirms, confirms], 1)


async def test_a_namespace_that_does_not_exist_asks_for_nothing() -> None:
    async with asyncio.TaskGroup() as tasks:
        namespaces = ClusterNamespaces(Asker(code=404), monotonic=Clock(), spawn=tasks.create_task)
        assert await namespaces.confirms_deletion("nowhere") is None
