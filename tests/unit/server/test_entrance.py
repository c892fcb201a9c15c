"""Questions to a cluster, when the server ends."""

import asyncio

import pytest

from apis.meta.errors import StatusError
from quotaapi.auth.decisions import Decisions
from quotaapi.server.entrance import Questions


async def ask() -> int:
    return 7


async def test_a_question_after_the_end_is_refused_and_nobody_waits_for_its_answer() -> None:
    async with asyncio.TaskGroup() as tasks:
        questions = Questions(tasks)
        decisions = asked_through(questions)
        assert await decisions.get("before", ask) == 7
        questions.cancel()
        for _ in range(2):
            await assert_refused(decisions)
    await assert_refused(decisions)
    assert await decisions.get("before", ask) == 7


async def test_a_question_that_the_ended_group_cannot_carry_is_refused() -> None:
    async with asyncio.TaskGroup() as tasks:
        questions = Questions(tasks)
    await assert_refused(asked_through(questions))


def asked_through(questions: Questions) -> Decisions[str, int]:
    return Decisions(lambda _key: 10.0, size=2, monotonic=lambda: 0.0, spawn=questions.spawn)


async def assert_refused(decisions: Decisions[str, int]) -> None:
    async with asyncio.timeout(5):
        with pytest.raises(StatusError) as refusal:
            await decisions.get("after", ask)
    assert refusal.value.code == 503
