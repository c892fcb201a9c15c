"""The charges of the example shoots, reckoned by hand from their manifests and profiles."""

import pytest
import yaml

from apis.meta.transaction import Object
from tests.admission_examples import charge_by
from tests.shared_material import shared

CHARGES = {
    # 2 x ecs.sn2ne.xlarge (4, 16Gi), each with 30Gi of cloud_efficiency
    "alicloud": {"cpu": "8", "memory": "32Gi", "storage.standard": "60Gi", "machines": "2"},
    # 2 x m4.large (2, 8Gi), each with 20Gi of gp2
    "aws": {"cpu": "4", "memory": "16Gi", "storage.standard": "40Gi", "machines": "2"},
    # 2 x Standard_DS2_v2 (2, 7Gi), each with 35Gi of standard
    "azure": {"cpu": "4", "memory": "14Gi", "storage.standard": "70Gi", "machines": "2"},
    # 2 x n1-standard-4 (4, 15Gi), each with 20Gi of pd-standard
    "gcp": {"cpu": "8", "memory": "30Gi", "storage.standard": "40Gi", "machines": "2"},
    # No machines that anybody pays for.
    "local": {},
    # 2 x medium_2_4 (2, 4Gi), which brings 20Gi of class default
    "openstack": {"cpu": "4", "memory": "8Gi", "storage.default": "40Gi", "machines": "2"},
    # 2 x c1.small (4, 32Gi), each with 30Gi of a volume that is named by its class, standard
    "packet": {"cpu": "8", "memory": "64Gi", "storage.standard": "60Gi", "machines": "2"},
}


def manifest(name: str) -> Object:
    text = shared(f"manifests/{name}.yaml").read_text()
    found: Object = yaml.safe_load(text)
    return found


@pytest.mark.parametrize("provider", CHARGES)
def test_an_example_shoot_is_charged_exactly(provider: str) -> None:
    charged = charge_by(manifest(f"90-shoot-{provider}"), manifest(f"30-cloudprofile-{provider}"))
    assert charged.charge == {**CHARGES[provider], "loadbalancer": "1", "shoots": "1"}
