"""Every scenario by name: a fault under load, and the reckoning. Run by pytest and by `hack/soak`."""

from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType

from tests.faults.rig import Bounds
from tests.faults.scenarios import (
    clocks,
    cluster,
    connections,
    crash,
    lists,
    network,
    replicas,
    resources,
    storage,
    watches,
)

Scenario = Callable[[Bounds], Awaitable[None]]

BRIEF = Bounds(rounds=1)
"""For a run of all tests."""

LONG = Bounds(rounds=5, pause_seconds=7.5, clients=50)
"""For each scenario once: every fault five times; etcd stands still for 30 s."""

FULL: Mapping[str, Bounds] = {
    "two_replicas": Bounds(clients=200, load_seconds=600, patrol_seconds=30),
    "three_replicas": Bounds(clients=200, load_seconds=600, patrol_seconds=30),
    "many_come_and_go": Bounds(clients=50, projects=50, shoots=100, patrol_seconds=30),
    "informers_miss_nothing": Bounds(rounds=10, clients=50, watchers=200),
    "nothing_grows": Bounds(writes=1_000_000, watchers=12, window=1_000, patrol_seconds=20),
    "connections_idle": Bounds(connections=10_000),
    "lists_unread": Bounds(listers=450, objects=20_000),
}
"""The scenarios of populations, each at the size at which an installation must stand. The others: LONG."""

SCENARIOS: Mapping[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        crash.kill_a_server,
        crash.kill_etcd,
        crash.kill_both,
        network.etcd_stands_still,
        network.etcd_is_slow,
        network.etcd_is_cut_off_in_the_middle_of_answers,
        network.etcd_answers_after_its_client_gave_up,
        cluster.leader_is_killed,
        cluster.leader_stands_still,
        cluster.leader_is_cut_off,
        storage.history_is_compacted,
        storage.disk_is_full,
        storage.backup_is_restored,
        storage.data_are_put_back,
        *((clocks.clock_jumps,) if clocks.LIBRARY else ()),
        watches.informers_miss_nothing,
        resources.nothing_grows,
        connections.connections_idle,
        lists.lists_unread,
        replicas.two_replicas,
        replicas.three_replicas,
        replicas.recounts_go_on,
        replicas.many_come_and_go,
    )
}


def of(*modules: ModuleType) -> list[str]:
    """The scenarios of some modules."""
    names = {module.__name__ for module in modules}
    return [name for name, scenario in SCENARIOS.items() if scenario.__module__ in names]
