"""1,000 creates by 50 clients at once, against a quota with room for 700."""

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api
from tests.harness.burst import CLIENTS, CREATES, ROOM, burst, split
from tests.harness.etcd import assert_exact, counters


async def test_a_burst_is_admitted_exactly_in_few_transactions_and_no_compare_fails(
    api: Api, etcd_url: str
) -> None:
    await api.have(
        a_profile(),
        a_quota(name="burst", metrics={"shoots": str(ROOM), "cpu": "10k"}),
        a_binding(name="burst", quotas=["burst"]),
    )
    before = counters(etcd_url)

    answers = await burst(
        [api], (a_shoot(name=f"burst-{n}", binding="burst") for n in range(CREATES)), CLIENTS
    )

    cost = counters(etcd_url) - before
    created, refused, unknown = split(answers)
    assert (len(created), len(refused), len(unknown)) == (ROOM, CREATES - ROOM, 0)
    assert len(await api.items("Shoot", "garden-dev")) == ROOM
    assert await api.used("garden-trial", "burst") == {"shoots": "700", "cpu": "1400"}
    assert assert_exact(etcd_url)["shoots"] == ROOM
    assert cost.proposals < 60
    # A transaction whose compare fails goes through raft and makes no revision.
    assert cost.proposals == cost.revision
