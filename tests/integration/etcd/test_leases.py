"""Leases on a real etcd: who has the key, for how long, and what a guard by it is worth."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from apis.meta.transaction import Conflict, Put, Transaction, Unavailable
from storage.etcd.client import Client
from storage.etcd.group_commit import GroupCommit
from storage.etcd.leases import Leases
from storage.etcd.store import EtcdStore
from tests.etcd_process import EtcdProcess

KEY = ".internal/leader"


class Etcd:
    def __init__(self, store: EtcdStore) -> None:
        self.store = store
        self.leases = Leases(store)
        self.group_commit = GroupCommit(store)


@pytest.fixture
async def etcd(etcd_process: EtcdProcess, prefix: str) -> AsyncIterator[Etcd]:
    client = Client([etcd_process.endpoint])
    found = Etcd(EtcdStore(client, prefix=prefix))
    committing = asyncio.ensure_future(found.group_commit.run())
    try:
        yield found
    finally:
        committing.cancel()
        await asyncio.wait([committing])
        await client.close()


async def test_the_first_comer_has_the_key_until_its_lease_is_revoked(etcd: Etcd) -> None:
    leases = etcd.leases
    first, second = await leases.grant(60), await leases.grant(60)

    taken = await leases.take(KEY, first, b'{"holder":"first"}')

    assert taken > 0
    assert await leases.take(KEY, second, b"{}") == 0
    assert await leases.holder(KEY) == taken
    await leases.revoke(first)
    assert await leases.holder(KEY) == 0
    assert await leases.take(KEY, second, b"{}") > taken
    await leases.revoke(second)


async def test_the_key_is_a_record_like_any_other(etcd: Etcd) -> None:
    lease = await etcd.leases.grant(60)
    await etcd.leases.take(KEY, lease, b'{"holder":"me"}')

    page = await etcd.store.range("")

    assert [(record.key, record.body) for record in page.records] == [(KEY, b'{"holder":"me"}')]
    await etcd.leases.revoke(lease)


async def test_a_lease_that_is_renewed_lives_and_one_that_has_ended_cannot_be_renewed(
    etcd: Etcd,
) -> None:
    lease = await etcd.leases.grant(60)

    assert await etcd.leases.keep_alive(lease) == 60
    await etcd.leases.revoke(lease)
    assert await etcd.leases.keep_alive(lease) == 0
    with pytest.raises(Unavailable):
        await etcd.leases.revoke(lease)
    with pytest.raises(Unavailable):
        await etcd.leases.take(KEY, lease, b"{}")


async def test_a_write_under_a_mandate_fails_once_the_lease_has_ended(etcd: Etcd) -> None:
    lease = await etcd.leases.grant(60)
    taken = await etcd.leases.take(KEY, lease, b"{}")
    await etcd.group_commit.commit(Transaction({KEY: taken, "a": 0}, [Put("a", b"{}")]))

    await etcd.leases.revoke(lease)

    with pytest.raises(Conflict):
        await etcd.group_commit.commit(Transaction({KEY: taken, "b": 0}, [Put("b", b"{}")]))
    other = await etcd.leases.grant(60)
    assert await etcd.leases.take(KEY, other, b"{}") > taken
    with pytest.raises(Conflict):
        await etcd.group_commit.commit(Transaction({KEY: taken, "b": 0}, [Put("b", b"{}")]))
    await etcd.leases.revoke(other)


async def test_a_lease_that_nobody_renews_ends_and_watchers_hear_of_it(etcd: Etcd) -> None:
    after = await etcd.store.current_revision()
    lease = await etcd.leases.grant(1)
    await etcd.leases.take(KEY, lease, b"{}")

    found = []
    async with asyncio.timeout(20):
        async for _, events in etcd.store.events(after):
            found += [(event.key, event.record is None) for event in events]
            if (KEY, True) in found:
                break

    assert found == [(KEY, False), (KEY, True)]
    assert await etcd.leases.holder(KEY) == 0
