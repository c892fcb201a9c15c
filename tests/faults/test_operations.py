"""What happens to etcd as a whole, and to clocks, bounded: promises are kept, and what clients were told is so. `hack/soak` runs the same for long."""

import pytest

from tests.faults.scenarios import BRIEF, SCENARIOS, clocks, cluster, of, storage

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("name", of(clocks, cluster, storage))
async def test_promises_hold(name: str) -> None:
    await SCENARIOS[name](BRIEF)
