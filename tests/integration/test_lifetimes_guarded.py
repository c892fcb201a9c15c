"""A new shoot's expiration is that of the binding and quotas under which it is stored."""

import asyncio

import pytest

from apis.garden.v1beta1.shoot import EXPIRATION
from apis.meta.transaction import Object
from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api
from tests.harness.server import ServerProcess

pytestmark = pytest.mark.integration

ROUNDS = 40


async def test_no_shoot_slips_in_before_the_lifetime_of_its_new_binding(
    tmp_path, own_etcd_url
) -> None:
    """Each binding is posted in the midst of its shoots; who is refused may come again."""
    stored: list[Object] = []

    async def create(api: Api, shoot: Object) -> None:
        answer = await api.create(shoot)
        while answer.status == 504:
            answer = await api.create(shoot)
        if answer.status == 201:
            stored.append(answer.body)
        else:
            assert answer.status == 422, answer.body

    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as server:
        async with server.client() as session:
            api = Api(session)
            await api.have(a_profile(), a_quota(name="quota", metrics={"cpu": "100000"}, days=1))
            for n in range(ROUNDS):
                shoots = [a_shoot(name=f"shoot-{n}-{k}") for k in range(4)]
                for shoot in shoots:
                    shoot["spec"]["cloud"]["secretBindingRef"]["name"] = f"binding-{n}"
                binding = a_binding(name=f"binding-{n}", quotas=["quota"])
                await asyncio.gather(
                    create(api, shoots[0]),
                    create(api, shoots[1]),
                    api.have(binding),
                    *(create(api, shoot) for shoot in shoots[2:]),
                )

    assert len(stored) > ROUNDS
    assert [s for s in stored if EXPIRATION not in s["metadata"]["annotations"]] == []
