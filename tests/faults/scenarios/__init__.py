"""Every scenario by name: a fault under load, and the reckoning. Run by pytest and by `hack/soak`."""

from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType

from tests.faults.rig import Bounds
from tests.faults.scenarios import (
    clocks,
    cluster,
    crash,
    network,
    replicas,
    resources,
    storage,
    watches,
)

Scenario = Callable[[Bounds], Awaitable[None]]

BRIEF = Bounds(rounds=1)
"""For a run of all tests."""

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
