"""A recount against the auditor, which shares no accounting with it: they agree on what is wrong,
and nothing is left after the repairs."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from admission.quota.books import Books
from admission.quota.recount import Finding, Recount, RecountChange
from admission.quota.views import Views
from apis.meta.transaction import Header, Put, Record
from quotaapi.auditing.auditor import Auditor
from tests import builders
from tests.fakes.world import World

NAMESPACES = ("garden-a", "garden-b")
CHARGES = st.dictionaries(
    st.sampled_from(("cpu", "memory", "shoots")), st.sampled_from(("1", "4", "16Gi")), max_size=2
)
SHOOTS = st.lists(
    st.tuples(st.sampled_from(NAMESPACES), st.booleans(), st.integers(0, 3)), max_size=6
)
FAULTS = st.lists(
    st.tuples(st.integers(0, 100), st.one_of(st.none(), CHARGES), st.integers(0, 3)), max_size=5
)
"""(which ledger, its charge or None for its removal, its count)"""


def a_world(shoots: list[tuple[str, bool, int]]) -> World:
    world = World()
    world.put(builders.a_profile())
    world.put(builders.a_quota(name="s", metrics={"cpus": "1000", "machines": "100"}))
    world.put(builders.a_quota(name="p", scope="project", metrics={"memory": "4000Gi"}))
    for namespace in NAMESPACES:
        world.put(builders.a_binding(name="one", namespace=namespace, quotas=["s", "p"]))
        world.put(builders.a_binding(name="two", namespace=namespace, quotas=["s"]))
    for number, (namespace, first, machines) in enumerate(shoots):
        worker = builders.a_worker(maximum=machines, minimum=0)
        world.put(
            builders.a_shoot(
                name=f"shoot-{number}",
                namespace=namespace,
                binding="one" if first else "two",
                workers=[worker],
            )
        )
    return world


def ledgers(world: World) -> list[str]:
    kinds = (".ledger/", "garden.sapcloud.io/quotausages/", "garden.sapcloud.io/quotas/")
    return sorted(key for key in world.records if key.startswith(kinds))


def spoil(world: World, faults: list[tuple[int, dict[str, str] | None, int]]) -> None:
    for which, charge, count in faults:
        keys = ledgers(world)
        key = keys[which % len(keys)]
        if charge is None and "/quotas/" in key and not key.startswith(".ledger/"):
            continue  # a quota is no ledger alone
        world.revision += 1
        if charge is None:
            del world.records[key]
        else:
            header = Header(
                # The auditor does not look for charges where none are kept.
                charge=charge if not key.startswith(".ledger/quotas/") else None,
                count=count if key.startswith(".ledger/") else None,
            )
            world.records[key] = replace(
                world.records[key], header=header, mod_revision=world.revision
            )


def recount(world: World) -> list[Finding]:
    counted = Recount(Views())
    counted.add(world.records.values())
    return [finding for finding in counted.findings() if finding is not None]


def is_exact(world: World) -> bool:
    return not Auditor().load(world.revision, world.records.values())


def mend(world: World, finding: Finding) -> None:
    change = RecountChange(finding)
    keys = change.needs({}).keys
    books = Books({key: world.snapshot(key) for key in keys}, world._views, world._around)
    change.apply(books, fold=True)
    transaction = books.transaction()
    assert transaction is not None
    assert {write.key for write in transaction.writes} == {finding.key}
    assert finding.key in transaction.guards
    world.revision += 1
    for position, write in enumerate(transaction.writes):
        if isinstance(write, Put):
            world.records[write.key] = Record(
                write.key, world.revision, position, write.body, write.header
            )
        else:
            del world.records[write.key]


@given(SHOOTS)
def test_what_admission_leaves_behind_is_right(shoots: list[tuple[str, bool, int]]) -> None:
    assert recount(a_world(shoots)) == []


@given(SHOOTS, FAULTS)
def test_a_recount_finds_drift_exactly_where_the_auditor_finds_violations(
    shoots: list[tuple[str, bool, int]], faults: list[tuple[int, dict[str, str] | None, int]]
) -> None:
    world = a_world(shoots)
    spoil(world, faults)

    found = recount(world)

    assert any(finding.drift for finding in found) == (not is_exact(world))


@given(SHOOTS, FAULTS)
def test_two_recounts_mend_everything(
    shoots: list[tuple[str, bool, int]], faults: list[tuple[int, dict[str, str] | None, int]]
) -> None:
    world = a_world(shoots)
    spoil(world, faults)

    for _ in range(2):
        for finding in recount(world):
            mend(world, finding)

    assert recount(world) == []
    assert is_exact(world)


@given(SHOOTS, FAULTS)
def test_a_ledger_that_has_moved_is_left_alone(
    shoots: list[tuple[str, bool, int]], faults: list[tuple[int, dict[str, str] | None, int]]
) -> None:
    world = a_world(shoots)
    spoil(world, faults)
    for finding in recount(world):
        moved = replace(finding, mod_revision=finding.mod_revision + 1)
        change = RecountChange(moved)
        books = Books(
            {key: world.snapshot(key) for key in change.needs({}).keys},
            world._views,
            world._around,
        )

        change.apply(books, fold=True)

        assert (change.moved, books.transaction()) == (True, None)
