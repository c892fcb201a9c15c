"""Every kind of the group, in the order in which discovery lists them."""

from apis.garden.v1beta1.bindings import (
    CROSS_SECRET_BINDING,
    PRIVATE_SECRET_BINDING,
    SECRET_BINDING,
)
from apis.garden.v1beta1.cloudprofile import CLOUD_PROFILE
from apis.garden.v1beta1.quota import QUOTA
from apis.garden.v1beta1.quotausage import QUOTA_USAGE
from apis.garden.v1beta1.shoot import SHOOT
from apis.garden.v1beta1.shootlimitrange import SHOOT_LIMIT_RANGE
from apis.meta.resource import Resource

GROUP = "garden.sapcloud.io"
VERSION = "v1beta1"

RESOURCES: tuple[Resource, ...] = (
    CLOUD_PROFILE,
    CROSS_SECRET_BINDING,
    PRIVATE_SECRET_BINDING,
    QUOTA,
    QUOTA_USAGE,
    SECRET_BINDING,
    SHOOT,
    SHOOT_LIMIT_RANGE,
)

BY_PLURAL: dict[str, Resource] = {resource.plural: resource for resource in RESOURCES}
BY_KIND: dict[str, Resource] = {resource.kind: resource for resource in RESOURCES}

__all__ = [
    "BY_KIND",
    "BY_PLURAL",
    "CLOUD_PROFILE",
    "CROSS_SECRET_BINDING",
    "GROUP",
    "PRIVATE_SECRET_BINDING",
    "QUOTA",
    "QUOTA_USAGE",
    "RESOURCES",
    "SECRET_BINDING",
    "SHOOT",
    "SHOOT_LIMIT_RANGE",
    "VERSION",
]
