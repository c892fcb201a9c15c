"""Every kind is served."""

from datetime import UTC, datetime

from apis.garden.v1beta1.register import BY_PLURAL
from apis.meta.codec import Decoded
from apis.meta.request import Attributes
from quotaapi.registry.heavy import Heavy
from quotaapi.registry.options import WriteOptions
from quotaapi.resources.stores import extracts, stores
from tests.builders import a_quota
from tests.fakes.memory_registry import MemoryGate, MemoryStore
from tests.fakes.registry_rig import USER


async def _nothing(_attributes: Attributes) -> None:
    return None


async def test_every_kind_has_a_store_and_facts() -> None:
    memory = MemoryStore()
    served = stores(
        reader=memory,
        transactor=memory,
        mutate=_nothing,
        validate=_nothing,
        admit=MemoryGate(memory).admit,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        heavy=Heavy(),
    )

    written = await served["quotas"].create(
        USER, "garden-trial", Decoded(a_quota(name="a")), WriteOptions()
    )

    assert written.created
    assert served.keys() == extracts().keys() == BY_PLURAL.keys()
