"""kill -9 and a bad network, bounded: promises are kept, and what clients were told is so. `hack/soak` runs the same for long."""

import pytest

from tests.faults.scenarios import BRIEF, SCENARIOS, crash, network, of

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("name", of(crash, network))
async def test_promises_hold(name: str) -> None:
    await SCENARIOS[name](BRIEF)
