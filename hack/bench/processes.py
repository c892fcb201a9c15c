"""What the kernel says of a process and of those that it started."""

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for number, fields in _all():
        children.setdefault(int(fields[1]), []).append(number)
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time, of the process and of its descendants that live."""
    fields = [_fields(member) for member in family(pid)]
    return sum(int(found[11]) + int(found[12]) for found in fields) / _TICKS


def resident_mb(pid: int) -> float:
    """RSS of a process and its descendants, in MB (10**6 bytes): what they share counts for each."""
    return sum(int(_fields(member)[21]) for member in family(pid)) * _PAGE / 1e6


def _all() -> Iterator[tuple[int, list[str]]]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                yield int(path.name), _fields(int(path.name))
            except OSError:
                continue  # it has just ended


def _fields(pid: int) -> list[str]:
    """Of /proc/PID/stat, what follows the command's name: [0] is the state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
