"""What holds for every test: no leftover tasks, and how long hypothesis looks."""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator

import hypothesis
import pytest
import pytest_asyncio

# A slow machine is no failure: hypothesis's deadlines are off, pytest-timeout bounds each test.
# CI repeats exactly the same examples, so that a red run is about the change.
hypothesis.settings.register_profile("dev", max_examples=50, deadline=None)
hypothesis.settings.register_profile("ci", max_examples=300, deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest_asyncio.fixture
async def _no_leftover_tasks() -> AsyncIterator[None]:
    left = before = asyncio.all_tasks()
    yield
    # What was just cancelled or has just been woken may still need a turn to end.
    for _ in range(10):
        left = asyncio.all_tasks() - before - {asyncio.current_task()}
        if not left:
            return
        await asyncio.sleep(0)
    pytest.fail(f"tasks left behind: {sorted(map(repr, left))}")


@pytest.fixture(autouse=True)
def _tasks_are_owned(request: pytest.FixtureRequest) -> None:
    """A test that leaves asyncio tasks behind fails."""
    if inspect.iscoroutinefunction(getattr(request.node, "function", None)):
        request.getfixturevalue("_no_leftover_tasks")
