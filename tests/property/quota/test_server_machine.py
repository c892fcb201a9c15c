"""The machine of `books_machine` through the whole server logic, with bursts of concurrent creates."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from apis.meta.keys import object_key
from tests import builders
from tests.fakes.served_world import ServedWorld
from tests.property.quota.books_machine import (
    BINDINGS,
    NAMESPACES,
    POOLS,
    QUOTAS,
    BooksMachine,
    workers,
)


class ServerMachine(BooksMachine):
    """The invariants are those of the books, read from the store itself after every step."""

    def make_world(self) -> ServedWorld:
        self.served = ServedWorld()
        return self.served

    def teardown(self) -> None:
        self.served.close()

    @initialize()
    def what_a_charge_needs(self) -> None:
        """So that most steps are about charges: a quota of each scope, bound in both namespaces."""
        for name, metrics in {"s1": {"cpus": "20", "shoots": "6"}, "p1": {"machines": "8"}}.items():
            quota = builders.a_quota(name=name, scope=QUOTAS[name], metrics=metrics)
            self.world.put(quota)
        for namespace in NAMESPACES:
            binding = builders.a_binding(name="b1", namespace=namespace, quotas=["s1", "p1"])
            self.world.put(binding)

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        binding=st.sampled_from(BINDINGS),
        pools=POOLS,
        count=st.integers(2, 6),
    )
    def create_a_burst(
        self, namespace: str, binding: str, pools: list[tuple[str, int, int]], count: int
    ) -> None:
        """Equal shoots side by side: as many are admitted as would be one after the other."""
        names = [f"burst-{n}" for n in range(count)]
        for name in names:
            if object_key("shoots", namespace, name) in self.world.records:
                self.world.delete("Shoot", namespace, name)
        shoots = [
            builders.a_shoot(
                name=name, namespace=namespace, binding=binding, workers=workers(pools)
            )
            for name in names
        ]

        admitted = sum(self.served.put_together(shoots))

        stored = [n for n in names if object_key("shoots", namespace, n) in self.world.records]
        assert len(stored) == admitted
        if admitted < count:
            refused = next(s for s in shoots if s["metadata"]["name"] not in stored)
            assert not self.fits(refused, None)


TestServer = ServerMachine.TestCase
TestServer.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
