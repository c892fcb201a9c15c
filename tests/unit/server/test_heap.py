"""When memory is given back."""

import asyncio
import sys

import pytest

from quotaapi.server.heap import WORTH_SECONDS, Heap, find_trim


class Looks:
    """Time between looks: the test says before each how much has been worked by then."""

    def __init__(self, *worked: float) -> None:
        self._left = list(worked)
        self.worked = 0.0
        self.trims = 0

    async def sleep(self, _seconds: float) -> None:
        if not self._left:
            raise asyncio.CancelledError
        self.worked = self._left.pop(0) * WORTH_SECONDS

    def trim(self) -> None:
        self.trims += 1
        self.worked += WORTH_SECONDS / 2

    async def run(self) -> int:
        heap = Heap(lambda: self.worked, self.trim, sleep=self.sleep)
        with pytest.raises(asyncio.CancelledError):
            await heap.run()
        return self.trims


@pytest.mark.parametrize(
    ("worked", "trims"),
    [
        ((0, 0, 0), 0),
        ((0.9,), 0),
        ((1.1,), 1),
        ((1.1, 1.7, 2.5), 1),
        ((1.1, 2.7), 2),
        ((50, 50), 1),
    ],
)
async def test_it_trims_once_for_so_much_work_and_not_for_its_own(
    worked: tuple[float, ...], trims: int
) -> None:
    assert await Looks(*worked).run() == trims


async def test_without_a_trim_it_has_nothing_to_do() -> None:
    async with asyncio.timeout(5):
        await Heap(lambda: 1_000_000, None).run()


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_this_c_library_has_one() -> None:
    trim = find_trim()

    assert trim is not None
    trim()
