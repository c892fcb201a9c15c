"""Which etcds may forget what they answered.

A member that is alone answers a write before it is on disk (etcd's issue 14370, mended in 3.4.21
and 3.5.5): killed at that instant it comes back without its last answered transaction. Balances
stay exact, since the objects and their charges are forgotten together; a client was told of a
write that is not there.
"""

import asyncio
import re

_VERSION = re.compile(rb"etcd Version: (\d+)\.(\d+)\.(\d+)")


def answers_before_it_is_durable(version: tuple[int, int, int]) -> bool:
    return version < (3, 4, 21) or (3, 5, 0) <= version < (3, 5, 5)


async def weakness_of(binary: str, *, timeout_seconds: float = 5.0) -> str:
    """What an operator should know of this etcd; empty where there is nothing, or it cannot be told."""
    process = await asyncio.create_subprocess_exec(
        binary, "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(timeout_seconds):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    found = _VERSION.search(said)
    if found is None:
        return ""
    major, minor, patch = (int(part) for part in found.groups())
    if not answers_before_it_is_durable((major, minor, patch)):
        return ""
    return (
        f"etcd {major}.{minor}.{patch} may lose its last answered write when it is killed or loses "
        "power; for more than trying, set QUOTAAPI_ETCD to 3.5.5 or newer, or use --etcd-servers"
    )
