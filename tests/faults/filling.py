"""etcd, spoken to past the server; very many objects, which to create would take longer than the test."""

import base64
import uuid

import aiohttp

from apis.meta import codec

KEY = "/registry/garden.sapcloud.io/quotas/garden-trial"
_AT_ONCE = 100


async def fill(etcd_url: str, count: int, *, like: str = "quota", padding: int = 0) -> None:
    """Copies of one stored quota of garden-trial as they are; `padding`: bytes of an annotation."""
    found = await call(etcd_url, "kv/range", {"key": _encoded(f"{KEY}/{like}".encode())})
    head, _, body = base64.b64decode(found["kvs"][0]["value"]).partition(b"\n")
    quota = codec.decode_json(body).value
    if padding:
        quota["metadata"]["annotations"] = {"padding": "x" * padding}
    for start in range(0, count, _AT_ONCE):
        puts = []
        for number in range(start, min(start + _AT_ONCE, count)):
            name = f"{like}-{number:05}"
            quota["metadata"] |= {"name": name, "uid": str(uuid.UUID(int=number))}
            value = head.replace(b'"p":"000"', b'"p":"%03d"' % (number - start), 1)
            put = {
                "key": _encoded(f"{KEY}/{name}".encode()),
                "value": _encoded(value + b"\n" + codec.encode(quota)),
            }
            puts.append({"request_put": put})
        await call(etcd_url, "kv/txn", {"success": puts})


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def call(
    etcd_url: str, method: str, body: dict[str, object]
) -> dict[str, list[dict[str, str]]]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{etcd_url}/v3/{method}", json=body) as answer,
    ):
        found: dict[str, list[dict[str, str]]] = await answer.json(content_type=None)
        assert answer.status == 200 or "compacted" in str(found), found
        return found
