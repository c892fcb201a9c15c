"""A binding's quotas change while 5,000 shoots stand behind it and more are made."""

import asyncio
import time
from pathlib import Path

import pytest

from apis.meta.quantity import nanos_of
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Answer, Api
from tests.harness.burst import burst, split
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess

SHOOTS = 5000
MORE = 1000
MOVES = 20
LIMIT_SECONDS = 2.0
"""For one move, however many shoots there are: other clients' batches hold the ledgers meanwhile."""


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_the_charges_of_5000_shoots_move_in_one_transaction_under_concurrent_creates(
    tmp_path: Path, own_etcd_url: str
) -> None:
    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as server:
        async with server.client() as session:
            api = Api(session)
            roomy = {"cpu": "100k", "shoots": "100k"}
            await api.have(
                a_profile(),
                a_quota(name="first", metrics=roomy),
                a_quota(name="second", metrics=roomy),
                a_quota(name="project", scope="project", metrics=roomy),
                a_quota(name="small", metrics={"shoots": "10"}),
                a_binding(name="binding", quotas=["first"]),
            )
            filled = await burst([api], (a_shoot(name=f"shoot-{n}") for n in range(SHOOTS)), 100)
            assert len(split(filled)[0]) == SHOOTS

            async def move() -> list[tuple[float, Answer]]:
                answers = []
                for number in range(MOVES):
                    names = (("second",), ("first", "project"), ("project",), ("first",))[
                        number % 4
                    ]
                    quotas = [{"namespace": "garden-trial", "name": name} for name in names]
                    started = time.monotonic()
                    answer = await api.patch(
                        "CrossSecretBinding", "garden-dev", "binding", {"quotas": quotas}
                    )
                    answers.append((time.monotonic() - started, answer))
                return answers

            moved, made = await asyncio.gather(
                move(), burst([api], (a_shoot(name=f"more-{n}") for n in range(MORE)), 30)
            )

            assert [answer for _, answer in moved if answer.status != 200] == []
            assert max(seconds for seconds, _ in moved) < LIMIT_SECONDS
            assert len(split(made)[0]) == MORE
            used = await api.used("garden-trial", "first")
            assert {name: nanos_of(text) for name, text in used.items()} == {
                "cpu": 2 * (SHOOTS + MORE) * 10**9,
                "shoots": (SHOOTS + MORE) * 10**9,
            }
            assert (await api.used("garden-trial", "second"))["shoots"] == "0"
            quotas = [{"namespace": "garden-trial", "name": "small"}]
            refused = await api.patch(
                "CrossSecretBinding", "garden-dev", "binding", {"quotas": quotas}
            )
            assert refused.status == 403
            assert "exceeded quota: small" in refused.message
    statistics = assert_exact(own_etcd_url)
    assert statistics["shoots"] == SHOOTS + MORE
