"""A middlebox before etcd sends every transaction twice: clients and accounts see it once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.doubling_proxy import DoublingProxy
from tests.etcd_process import EtcdProcess
from tests.harness.api import Answer, Api, Object, path_of
from tests.harness.etcd import assert_exact
from tests.harness.server import ServerProcess

COUNT = 40
Answers = Literal["first", "second"]


@asynccontextmanager
async def doubled(
    tmp_path: Path, etcd: EtcdProcess, answers: Answers = "second"
) -> AsyncIterator[tuple[DoublingProxy, Api]]:
    """A server behind the proxy, and its admin."""
    async with DoublingProxy(etcd.port, answers=answers).run() as proxy:
        server = ServerProcess(tmp_path / "server", etcd_servers=proxy.endpoint)
        try:
            await asyncio.to_thread(server.start)
            async with server.client() as session:
                yield proxy, Api(session)
        finally:
            await asyncio.to_thread(server.stop)


def numbered(scope: str, count: int = COUNT) -> list[Object]:
    return [a_shoot(name=f"{scope}-{n}", binding=scope) for n in range(count)]


async def have_quotas(api: Api) -> None:
    await api.have(a_profile())
    for scope in ("secret", "project"):
        await api.have(
            a_quota(name=scope, scope=scope, metrics={"shoots": "1000", "cpu": "1000"}),
            a_binding(name=scope, quotas=[scope]),
        )


def statuses(answers: list[Answer]) -> set[int]:
    return {answer.status for answer in answers}


@pytest.mark.parametrize("answers", ["first", "second"])
async def test_clients_and_accounts_see_each_write_once(
    tmp_path: Path, own_etcd: EtcdProcess, answers: Answers
) -> None:
    async with doubled(tmp_path, own_etcd, answers) as (_, api):
        await have_quotas(api)
        shoots = [*numbered("secret"), *numbered("project")]
        assert statuses(await asyncio.gather(*map(api.create, shoots))) == {201}

        bigger: list[Object] = [
            {"spec": {"cloud": {"aws": {"workers": [a_worker(maximum=3)]}}}},
            {"metadata": {"labels": {"team": "blue"}}},
        ]
        for patch in bigger:
            patches = (
                api.patch("Shoot", "garden-dev", s["metadata"]["name"], patch) for s in shoots
            )
            assert statuses(await asyncio.gather(*patches)) == {200}

        unnamed = [
            {**obj, "metadata": {"namespace": obj["metadata"]["namespace"], "generateName": "g-"}}
            for obj in (
                [a_shoot(binding="secret") for _ in range(COUNT)]
                + [a_quota() for _ in range(COUNT)]
                + [a_binding() for _ in range(COUNT)]
            )
        ]
        made = await asyncio.gather(*map(api.create, unnamed))
        assert statuses(made) == {201}
        names = {(a.body["kind"], a.body["metadata"]["name"]) for a in made}
        for kind in ("Shoot", "Quota", "CrossSecretBinding"):
            stored = {o["metadata"]["name"] for o in await api.items(kind)}
            generated = {name for name in stored if name.startswith("g-")}
            assert generated == {name for of, name in names if of == kind}
            assert len(generated) == COUNT

        gone = shoots[: COUNT // 2] + [
            {"kind": kind, "metadata": {"namespace": a.body["metadata"]["namespace"], "name": name}}
            for a in made
            for kind, name in [(a.body["kind"], a.body["metadata"]["name"])]
        ]
        assert statuses(await asyncio.gather(*map(api.delete_object, gone))) == {200}
        left = len(shoots) - COUNT // 2
        assert len(await api.items("Shoot")) == left
        used = await api.used("garden-trial", "secret")
        assert used == {"shoots": str(COUNT // 2), "cpu": str(COUNT // 2 * 2 * 3)}
    assert assert_exact(own_etcd.endpoint)["shoots"] == left


async def test_a_copy_that_comes_after_the_deletion_brings_nothing_back(
    tmp_path: Path, own_etcd: EtcdProcess
) -> None:
    """The last deletions remove the ledgers, so that all is absent as the first creates found it."""
    async with doubled(tmp_path, own_etcd) as (proxy, api):
        await have_quotas(api)
        others = [a_quota(name="other"), a_profile(name="other"), a_binding(name="other")]
        objects = [*numbered("secret", 5), *numbered("project", 5), *others]
        for _ in range(2):
            assert statuses([await api.create(obj) for obj in objects]) == {201}
            for obj in objects:
                answer = await api.request("DELETE", f"{path_of(obj)}/{obj['metadata']['name']}")
                assert answer.status == 200, answer
        applied = [write for write in proxy.writes if await proxy.deliver_late(write)]
        assert applied == []
        for kind, kept in (("Shoot", 0), ("Quota", 2), ("CloudProfile", 1)):
            assert len(await api.items(kind)) == kept
    assert assert_exact(own_etcd.endpoint)["shoots"] == 0
