"""What the cyclic garbage collector no longer looks at."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from quotaapi.server import collection


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
    gc.enable()


def test_from_its_beginning_a_process_collects_what_is_new_only() -> None:
    gc.disable()
    collection.begin()
    assert gc.isenabled()
    assert gc.get_threshold() == collection.THRESHOLDS
    assert gc.get_freeze_count() > 0


async def test_what_the_cache_holds_is_frozen_once_it_is_filled() -> None:
    filled = asyncio.Event()
    task = asyncio.ensure_future(collection.freeze_after(filled))
    await asyncio.sleep(0)
    before = gc.get_freeze_count()
    kept = [[number] for number in range(1000)]
    filled.set()
    await task
    assert gc.get_freeze_count() - before >= len(kept)
