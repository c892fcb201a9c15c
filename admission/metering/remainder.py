"""What quotas leave for use inside one cluster, as the core/v1 ResourceQuota that holds it to that.

    services.loadbalancers                                    loadbalancer - the shoot's own
    <class>.storageclass.storage.k8s.io/requests.storage      storage.<class> - the shoot's own disks
                                                              pvc.<class>

Several quotas, or two metrics of one class: the least counts, and never less than zero. What no
quota names is not limited. Nothing that is used inside a cluster is charged.
"""

import re
from collections.abc import Iterable, Mapping

from apis.garden.v1beta1.metrics import canonical_metric
from apis.meta.quantity import NANOS, nanos_of, text_of
from apis.meta.transaction import Charge, Object

LOAD_BALANCERS = "services.loadbalancers"
STORAGE_SUFFIX = ".storageclass.storage.k8s.io/requests.storage"

_LOAD_BALANCER = "loadbalancer"
_STEMS = ("storage.", "pvc.")
_STORAGE_CLASS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253
"""Of a resource's name: what precedes its slash is a DNS subdomain."""


def remainder(limits: Iterable[Mapping[str, str]], charge: Charge) -> dict[str, str]:
    """`spec.hard` of the ResourceQuota. `limits`: `spec.metrics` of every quota of the shoot's
    binding; `charge`: what the shoot itself is charged.

    A class that cannot be the name of a StorageClass cannot be claimed either, and is left out.
    """
    left: dict[str, int] = {}
    for metrics in limits:
        for shown, limit in metrics.items():
            metric = canonical_metric(shown) or ""
            name = _resource(metric)
            if name:
                # No part of a load balancer or of a byte can be had.
                rest = max(nanos_of(limit) - nanos_of(charge.get(metric, "0")), 0) // NANOS
                left[name] = min(rest, left.get(name, rest))
    return {name: _text(name, left[name]) for name in sorted(left)}


def resource_quota(name: str, hard: Mapping[str, str]) -> Object:
    """Without a namespace, uid or version: it is to be applied inside the cluster."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": dict(hard)},
    }


def _resource(metric: str) -> str:
    """The name under which a cluster counts the metric; empty where it does not."""
    if metric == _LOAD_BALANCER:
        return LOAD_BALANCERS
    for stem in _STEMS:
        if metric.startswith(stem):
            volume_class = metric.removeprefix(stem)
            prefix = volume_class + STORAGE_SUFFIX.partition("/")[0]
            if _STORAGE_CLASS.fullmatch(volume_class) and len(prefix) <= _LONGEST_PREFIX:
                return volume_class + STORAGE_SUFFIX
    return ""


def _text(name: str, amount: int) -> str:
    return text_of(amount * NANOS, "DecimalSI" if name == LOAD_BALANCERS else "BinarySI")
