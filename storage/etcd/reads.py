"""Several keys read at one revision."""

from collections.abc import Sequence

from apis.meta.transaction import NoSpace
from storage.etcd import wire
from storage.etcd.client import Client


async def ranges(
    client: Client, keys: Sequence[bytes], revision: int
) -> tuple[wire.Message, Sequence[wire.Message]]:
    """An answer of etcd's at the newest revision, and what a range of each key answers, all at
    `revision`, or at that answer's where it is 0. As many keys as one Txn takes.

    Raises Unavailable.
    """
    try:
        answer = await client.ask("/kv/txn", wire.reads_request(keys, revision))
    except NoSpace:
        # An etcd whose file has outgrown its quota refuses Txns that only read, too.
        return await _one_by_one(client, keys, revision)
    return answer, [response["response_range"] for response in answer["responses"]]


async def _one_by_one(
    client: Client, keys: Sequence[bytes], revision: int
) -> tuple[wire.Message, Sequence[wire.Message]]:
    found: list[wire.Message] = []
    for key in keys:
        options = {"revision": str(revision)} if revision else {}
        request = wire.encode(wire.range_request(key, **options))
        found.append(await client.ask("/kv/range", request))
        revision = revision or wire.revision_of(found[0])
    return found[0], found
