"""What a server takes of its machine, and what it tells of itself."""

import os
from dataclasses import dataclass
from pathlib import Path

import aiohttp


@dataclass(frozen=True, slots=True)
class Footprint:
    rss_kib: int
    descriptors: int
    tasks: int
    watches: int

    def text(self) -> str:
        return (
            f"RSS {self.rss_kib / 1024:.1f} MiB, {self.descriptors} fds, {self.tasks} tasks, "
            f"{self.watches} watches"
        )


async def metrics(session: aiohttp.ClientSession) -> dict[str, float]:
    """The server's numbers, by name and labels as they are written."""
    async with session.get("/metrics") as answer:
        text = await answer.text()
    assert answer.status == 200, text
    lines = (line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#")
    return {name: float(value) for name, _, value in lines}


async def footprint(session: aiohttp.ClientSession, pid: int) -> Footprint:
    found = await metrics(session)
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Footprint(
        rss_kib=pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),
        tasks=int(found["quotaapi_tasks"]),
        watches=int(found["quotaapi_watches_open"]),
    )
