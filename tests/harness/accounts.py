"""What is stored beside the objects, read from etcd itself."""

import asyncio

from apis.meta.keys import parse_object_key, resource_prefix
from quotaapi.audit.sources import open_backend


def charges(etcd_url: str, prefix: str = "/registry") -> dict[str, dict[str, str]]:
    """Name of a shoot -> what it was charged."""
    return asyncio.run(_charges(etcd_url, prefix))


async def _charges(etcd_url: str, prefix: str) -> dict[str, dict[str, str]]:
    async with open_backend([etcd_url], prefix=prefix) as backend:
        page = await backend.range(resource_prefix("shoots"))
    found = {}
    for record in page.records:
        parsed = parse_object_key(record.key)
        assert parsed is not None
        found[parsed[2]] = dict(record.header.charge or {})
    return found
