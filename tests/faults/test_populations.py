"""Many replicas, objects and watchers, for long, bounded: promises are kept, and what clients were told is so. `hack/soak` runs the same for long."""

import pytest

from tests.faults.scenarios import (
    BRIEF,
    SCENARIOS,
    connections,
    lists,
    of,
    replicas,
    resources,
    watches,
)

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("name", of(connections, lists, replicas, resources, watches))
async def test_promises_hold(name: str) -> None:
    await SCENARIOS[name](BRIEF)
