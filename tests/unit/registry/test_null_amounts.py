"""A null in a map of amounts is neither "none" nor "no limit": refused by every way that can say it."""

from collections.abc import Iterator
from typing import Any

import pytest

from apis.garden.v1beta1.register import QUOTA, RESOURCES, SHOOT_LIMIT_RANGE
from apis.meta.errors import StatusError
from apis.meta.patch import parse_json_patch, parse_merge_patch
from apis.meta.strategicmerge import parse_strategic_merge_patch
from apis.meta.structure import ListOf, MapOf, Node, QuantityText, Struct
from apis.meta.transaction import Object
from tests.builders import a_quota, an_object
from tests.fakes.registry_rig import NAMESPACE, Rig

TOLD = "null is no amount: write 0 for none, or leave it out for no limit"


def quota(**metrics: Any) -> Object:
    return a_quota(name="a", namespace=NAMESPACE) | {
        "spec": {"scope": "secret", "metrics": metrics}
    }


async def a_rig() -> Rig:
    rig = Rig()
    await rig.create(quota(cpu="1", gpu="1"))
    return rig


def metrics(rig: Rig) -> Object:
    stored = rig.stored("a")
    assert stored is not None
    found: Object = stored["spec"]["metrics"]
    return found


async def test_a_create_refuses_it() -> None:
    with pytest.raises(StatusError) as caught:
        await Rig().create(quota(cpu=None, gpu="1"))

    assert caught.value.code == 422
    assert caught.value.message.endswith(f'spec.metrics[cpu]: Invalid value: "null": {TOLD}')


async def test_a_replace_refuses_it() -> None:
    rig = await a_rig()
    new = quota(cpu=None)
    new["metadata"]["resourceVersion"] = str(rig.memory.records[rig.key("a")].resource_version)

    with pytest.raises(StatusError, match=TOLD):
        await rig.update(new)


@pytest.mark.parametrize("exists", [False, True])
async def test_an_apply_refuses_it(exists: bool) -> None:
    rig = await a_rig() if exists else Rig()

    with pytest.raises(StatusError, match=TOLD):
        await rig.apply(quota(cpu=None), "me", force=True)


@pytest.mark.parametrize(
    "patch",
    [
        b'[{"op": "add", "path": "/spec/metrics/cpu", "value": null}]',
        b'[{"op": "replace", "path": "/spec/metrics", "value": {"cpu": null}}]',
    ],
)
async def test_a_json_patch_that_leaves_one_is_refused(patch: bytes) -> None:
    rig = await a_rig()

    with pytest.raises(StatusError, match=TOLD):
        await rig.patch("a", parse_json_patch(patch).apply)

    assert metrics(rig) == {"cpu": "1", "gpu": "1"}


@pytest.mark.parametrize("strategic", [False, True])
async def test_in_a_merge_patch_it_removes_the_metric(strategic: bool) -> None:
    """RFC 7386: what arrives cannot be told from the wish to have no limit."""
    rig, data = await a_rig(), b'{"spec": {"metrics": {"cpu": null}}}'
    parsed = parse_strategic_merge_patch(data, QUOTA) if strategic else parse_merge_patch(data)

    await rig.patch("a", parsed.apply)

    assert metrics(rig) == {"gpu": "1"}


@pytest.mark.parametrize(
    "field", ["min", "max", "default", "defaultRequest", "maxLimitRequestRatio"]
)
async def test_nor_does_a_limit_range_take_one(field: str) -> None:
    spec = {"limits": [{"type": "Worker", field: {"machines": None}}]}
    limits = an_object("ShootLimitRange", name="a", namespace=NAMESPACE, spec=spec)

    with pytest.raises(StatusError, match=TOLD):
        await Rig(SHOOT_LIMIT_RANGE).create(limits)


def quantity_maps(node: Node) -> Iterator[QuantityText]:
    if isinstance(node, MapOf) and isinstance(node.values, QuantityText):
        yield node.values
    inner = node.fields.values() if isinstance(node, Struct) else ()
    for child in (*inner, *([node.items] if isinstance(node, ListOf) else ())):
        yield from quantity_maps(child)


def test_every_map_of_amounts_says_what_to_write_instead() -> None:
    found = [
        amount for resource in RESOURCES for amount in quantity_maps(resource.schema.declaration)
    ]

    assert len(found) >= 9
    assert all(amount.instead_of_null for amount in found)
