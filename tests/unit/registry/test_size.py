"""How large a Shoot may be, and what becomes of one that is larger already."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import SHOOT
from apis.garden.v1beta1.shoot import MAX_CONTENT_BYTES
from apis.meta.errors import StatusError
from apis.meta.transaction import Object, Put, Transaction, encode_body
from tests.builders import a_shoot
from tests.fakes.registry_rig import NAMESPACE, Rig

PADDED = MAX_CONTENT_BYTES + 1_000


def padded(size: int, **more: Any) -> Object:
    shoot = a_shoot(name="large", namespace=NAMESPACE)
    shoot["spec"] |= {"padding": "x" * size, **more}
    return shoot


async def with_a_large_one() -> Rig:
    """Stored when there was no bound."""
    rig = Rig(SHOOT)
    await rig.create(padded(10))
    seen = rig.memory.records[rig.key("large")]
    larger = _with_padding(seen.object(), PADDED)
    rig.memory.apply(Transaction({}, [Put(seen.key, encode_body(larger), seen.header)]))
    return rig


async def test_a_shoot_of_more_than_its_bound_is_refused_with_both_numbers() -> None:
    with pytest.raises(StatusError) as refused:
        await Rig(SHOOT).create(padded(PADDED))

    assert refused.value.code == 422
    assert "spec: Too long: spec and status have " in refused.value.message
    assert f"at most {MAX_CONTENT_BYTES}" in refused.value.message


async def test_a_shoot_below_it_is_stored_whatever_its_annotations_take() -> None:
    shoot = padded(MAX_CONTENT_BYTES - 5_000)
    shoot["metadata"]["annotations"] = {"note": "y" * 200_000}

    await Rig(SHOOT).create(shoot)


@pytest.mark.parametrize("size", [PADDED, PADDED - 1, 10])
async def test_one_that_is_larger_may_keep_its_size_and_get_smaller(size: int) -> None:
    rig = await with_a_large_one()

    await rig.patch("large", lambda obj: _with_padding(obj, size))

    stored = rig.stored("large")
    assert stored is not None
    assert len(stored["spec"]["padding"]) == size


async def test_one_that_is_larger_does_not_grow() -> None:
    rig = await with_a_large_one()

    with pytest.raises(StatusError) as refused:
        await rig.patch("large", lambda obj: _with_padding(obj, PADDED + 1))

    assert refused.value.code == 422


async def test_one_that_is_larger_is_labelled_and_deleted() -> None:
    rig = await with_a_large_one()

    await rig.patch("large", _labelled)
    await rig.delete("large")

    assert rig.stored("large") is None


def _with_padding(obj: Object, size: int) -> Object:
    obj["spec"]["padding"] = "x" * size
    return obj


def _labelled(obj: Object) -> Object:
    obj["metadata"]["labels"] = {"a": "b"}
    return obj
