"""When memory is given back."""

import asyncio
import sys

import pytest

from quotaapi.server.heap import WORTH, Heap, find_trim


class Looks:
    """Time between looks: the test says before each how many connections have ended by then."""

    def __init__(self, *closed: int) -> None:
        self._left = list(closed)
        self.closed = 0
        self.trims = 0

    async def sleep(self, _seconds: float) -> None:
        if not self._left:
            raise asyncio.CancelledError
        self.closed = self._left.pop(0)

    def trim(self) -> None:
        self.trims += 1

    async def run(self) -> int:
        heap = Heap(lambda: self.closed, self.trim, sleep=self.sleep)
        with pytest.raises(asyncio.CancelledError):
            await heap.run()
        return self.trims


@pytest.mark.parametrize(
    ("closed", "trims"),
    [
        ((0, 0, 0), 0),
        ((WORTH - 1,), 0),
        ((WORTH,), 1),
        ((WORTH, WORTH, WORTH + 1), 1),
        ((WORTH, 2 * WORTH), 2),
        ((50 * WORTH, 50 * WORTH), 1),
    ],
)
async def test_it_trims_once_for_each_so_many_that_have_ended(
    closed: tuple[int, ...], trims: int
) -> None:
    assert await Looks(*closed).run() == trims


async def test_without_a_trim_it_has_nothing_to_do() -> None:
    async with asyncio.timeout(5):
        await Heap(lambda: 1_000_000, None).run()


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_this_c_library_has_one() -> None:
    trim = find_trim()

    assert trim is not None
    trim()
