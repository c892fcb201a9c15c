"""The public manifests of these kinds, each as it is."""

from copy import deepcopy
from pathlib import Path

import pytest

from apis.garden.v1beta1.register import BY_KIND
from apis.meta import codec
from apis.meta.transaction import Object
from tests.settled import faults, settle
from tests.shared_material import SHARED, shared

FILES = sorted((SHARED / "manifests").glob("*.yaml")) or [Path("missing.yaml")]


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def manifest(request: pytest.FixtureRequest) -> Object:
    text = shared(f"manifests/{request.param.name}").read_bytes()
    found: Object = codec.decode_yaml(text).value
    return found


def test_a_manifest_is_valid_as_it_is(manifest: Object) -> None:
    assert faults(manifest) == []


def test_a_manifest_has_nothing_that_looks_like_a_slip(manifest: Object) -> None:
    assert BY_KIND[manifest["kind"]].schema.near_misses(manifest) == []


def test_a_manifest_changes_by_its_declared_defaults_alone(manifest: Object) -> None:
    assert settle(manifest) == with_defaults(manifest)


def with_defaults(manifest: Object) -> Object:
    """The defaults, written out a second time."""
    expected = deepcopy(manifest)
    if manifest["kind"] == "SecretBinding":
        expected["secretRef"].setdefault("namespace", manifest["metadata"]["namespace"])
    if manifest["kind"] == "Shoot":
        cloud = expected["spec"]["cloud"]
        cloud["secretBindingRef"]["kind"] = "SecretBinding"
        for worker in cloud[cloud["profile"]].get("workers", []):
            worker.setdefault("maxSurge", 1)
            worker.setdefault("maxUnavailable", 0)
    return expected


def test_a_manifest_can_be_stored_again(manifest: Object) -> None:
    stored = settle(manifest)

    assert settle(stored) == stored
    assert BY_KIND[manifest["kind"]].schema.validate_update(stored, stored) == []
