"""A quota or a binding in use is not deleted, whatever races for it, and nothing ever dangles."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Answer, Api
from tests.harness.etcd import assert_exact

CLIENTS = 50
ROUNDS = 6


async def have_quota_and_binding(api: Api) -> None:
    await api.have(
        a_profile(),
        a_quota(name="quota", metrics={"shoots": "1000"}),
        a_binding(name="binding", quotas=["quota"]),
    )


async def test_a_quota_that_a_binding_names_is_kept_and_the_binding_is_named(api: Api) -> None:
    await have_quota_and_binding(api)

    refused = await api.delete("Quota", "garden-trial", "quota")

    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert "garden-dev/binding" in refused.message
    assert (await api.get("Quota", "garden-trial", "quota")).status == 200


async def test_a_binding_with_shoots_is_kept_and_a_shoot_is_named(api: Api) -> None:
    await have_quota_and_binding(api)
    await api.have(a_shoot(name="its-shoot"))

    refused = await api.delete("CrossSecretBinding", "garden-dev", "binding")

    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert "its-shoot" in refused.message


async def test_references_end_with_what_made_them(api: Api) -> None:
    await have_quota_and_binding(api)
    await api.have(a_shoot(name="its-shoot"))

    for kind, namespace, name in (
        ("Shoot", "garden-dev", "its-shoot"),
        ("CrossSecretBinding", "garden-dev", "binding"),
        ("Quota", "garden-trial", "quota"),
    ):
        assert (await api.delete(kind, namespace, name)).status == 200


async def test_a_reference_to_nothing_is_refused(api: Api) -> None:
    await have_quota_and_binding(api)

    no_quota = await api.create(a_binding(name="other", quotas=["nope"]))
    no_binding = await api.create(a_shoot(name="one", binding="nope"))
    no_profile = await api.create(a_shoot(name="two", profile="nope"))

    for answer, named in ((no_quota, "nope"), (no_binding, "nope"), (no_profile, "nope")):
        assert answer.status in {403, 422}, answer
        assert named in answer.message


async def compete(*works: Callable[[int], Awaitable[list[Answer]]]) -> list[Answer]:
    """`CLIENTS` tasks, dealt out over the works in turn; every answer that any of them got."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_repeat(works[number % len(works)], number))
            for number in range(CLIENTS)
        ]
    return [answer for task in tasks for answer in task.result()]


async def _repeat(work: Callable[[int], Awaitable[list[Answer]]], number: int) -> list[Answer]:
    answers = []
    for _ in range(ROUNDS):
        answers += await work(number)
    return answers


async def test_nothing_dangles_while_clients_create_and_delete_against_a_bindings_deletion(
    api: Api, etcd_url: str
) -> None:
    await have_quota_and_binding(api)

    async def shoots(number: int) -> list[Answer]:
        name = f"shoot-{number}"
        return [
            await api.create(a_shoot(name=name)),
            await api.delete("Shoot", "garden-dev", name),
        ]

    async def binding(_number: int) -> list[Answer]:
        return [
            await api.delete("CrossSecretBinding", "garden-dev", "binding"),
            await api.create(a_binding(name="binding", quotas=["quota"])),
        ]

    answers = await compete(shoots, shoots, shoots, binding)

    allowed = {200, 201, 403, 404, 409, 422}  # refused where the binding was just away
    assert [answer for answer in answers if answer.status not in allowed] == []
    assert [a for a in answers if a.status == 409 and "modified" in a.message] == []
    assert_exact(etcd_url)


async def test_nothing_dangles_while_clients_bind_and_unbind_against_a_quotas_deletion(
    api: Api, etcd_url: str
) -> None:
    await have_quota_and_binding(api)
    assert (await api.delete("CrossSecretBinding", "garden-dev", "binding")).status == 200

    async def bindings(number: int) -> list[Answer]:
        name = f"binding-{number}"
        return [
            await api.create(a_binding(name=name, quotas=["quota"])),
            await api.create(a_shoot(name=f"shoot-{number}", binding=name)),
            await api.delete("Shoot", "garden-dev", f"shoot-{number}"),
            await api.delete("CrossSecretBinding", "garden-dev", name),
        ]

    async def quota(_number: int) -> list[Answer]:
        return [
            await api.delete("Quota", "garden-trial", "quota"),
            await api.create(a_quota(name="quota", metrics={"shoots": "1000"})),
        ]

    answers = await compete(bindings, bindings, bindings, bindings, quota)

    allowed = {200, 201, 403, 404, 409, 422}
    assert [answer for answer in answers if answer.status not in allowed] == []
    assert_exact(etcd_url)


async def test_charges_follow_a_binding_whose_quotas_change_under_load(
    api: Api, etcd_url: str
) -> None:
    await have_quota_and_binding(api)
    await api.have(a_quota(name="other", scope="project", metrics={"cpu": "10k"}))

    async def shoots(number: int) -> list[Answer]:
        name = f"shoot-{number}"
        return [
            await api.create(a_shoot(name=name)),
            await api.delete("Shoot", "garden-dev", name),
        ]

    async def change(number: int) -> list[Answer]:
        names = (("quota",), ("other",), ("quota", "other"), ())[number % 4]
        quotas = [{"namespace": "garden-trial", "name": name} for name in names]
        return [await api.patch("CrossSecretBinding", "garden-dev", "binding", {"quotas": quotas})]

    answers = await compete(shoots, shoots, shoots, change)

    assert [answer for answer in answers if answer.status not in {200, 201}] == []
    assert_exact(etcd_url)
