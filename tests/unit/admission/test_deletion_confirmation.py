"""Which deletions of Shoots are to be confirmed, and by what."""

import dataclasses

import pytest

from admission.plugins.deletion_confirmation import EXEMPT, DeletionConfirmation
from apis.garden.v1beta1.shoot import CONFIRMATION
from apis.meta.errors import StatusError
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Object
from tests.admission_examples import NAMESPACE, USER, World, a_binding, a_shoot, updating


def removing(old: Object, user: UserInfo = USER) -> Attributes:
    found = updating(old, old, user=user)
    return dataclasses.replace(found, operation=Operation.DELETE, obj=None)


async def refused(
    old: Object, *, required: bool = True, asked: bool | None = None, user: UserInfo = USER
) -> bool:
    world = World()
    if asked is not None:
        world.confirming[NAMESPACE] = asked
    try:
        await DeletionConfirmation(world, required=required).validate(removing(old, user))
    except StatusError:
        return True
    return False


async def test_a_refusal_is_in_the_predecessor_s_words() -> None:
    with pytest.raises(StatusError) as caught:
        await DeletionConfirmation(World(), required=True).validate(removing(a_shoot()))
    assert caught.value.code == 403
    assert caught.value.message == (
        'shoots.garden.sapcloud.io "demo" is forbidden: '
        'must have a "confirmation.garden.sapcloud.io/deletion" annotation to delete (value "true")'
    )


@pytest.mark.parametrize(
    ("required", "asked", "is_refused"),
    [
        (False, None, False),
        (True, None, True),
        (False, True, True),
        (True, False, False),
    ],
)
async def test_a_namespace_s_word_counts_before_the_server_s(
    required: bool, asked: bool | None, is_refused: bool
) -> None:
    assert await refused(a_shoot(), required=required, asked=asked) == is_refused


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [("true", False), ("1", False), ("T", False), ("false", True), ("", True), ("yes", True)],
)
async def test_the_annotation_is_read_as_the_predecessor_reads_it(
    value: str, is_refused: bool
) -> None:
    assert await refused(a_shoot(annotations={CONFIRMATION: value})) == is_refused


@pytest.mark.parametrize("name", sorted(EXEMPT))
async def test_who_deletes_because_something_else_was_deleted_is_exempt(name: str) -> None:
    assert not await refused(a_shoot(), user=UserInfo(name))


async def test_what_is_being_deleted_was_judged_before() -> None:
    shoot = a_shoot()
    shoot["metadata"]["deletionTimestamp"] = "2019-04-02T00:00:00Z"
    assert not await refused(shoot)


async def test_only_deletions_of_shoots_are_confirmed() -> None:
    assert not await refused(a_binding())
    plugin = DeletionConfirmation(World(), required=True)
    await plugin.validate(updating(a_shoot(), a_shoot()))
