"""Each fault, bounded: promises are kept, and what clients were told is so."""

import pytest

from tests.faults.rig import Bounds
from tests.faults.scenarios import SCENARIOS

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.mark.parametrize("name", SCENARIOS)
async def test_promises_hold(name: str) -> None:
    await SCENARIOS[name](Bounds(say=print))
