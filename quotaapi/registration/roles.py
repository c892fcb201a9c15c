"""Who may do what: the server itself, the cluster's roles, and operators.

Members read quotas and what they have used, and change neither: no role here that a project's
members get can write a quota, its ledger, a limit range, or a binding to somebody else's secret.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from apis.garden.v1beta1.register import (
    CLOUD_PROFILE,
    CROSS_SECRET_BINDING,
    GROUP,
    PRIVATE_SECRET_BINDING,
    QUOTA,
    QUOTA_USAGE,
    SECRET_BINDING,
    SHOOT,
    SHOOT_LIMIT_RANGE,
)

Object = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_WRITE = ("create", "update", "patch", "delete", "deletecollection")

_VISIBLE = (
    QUOTA.plural,
    f"{QUOTA.plural}/status",
    QUOTA_USAGE.plural,
    CROSS_SECRET_BINDING.plural,
    PRIVATE_SECRET_BINDING.plural,
    SECRET_BINDING.plural,
    SHOOT.plural,
    f"{SHOOT.plural}/status",
    f"{SHOOT.plural}/resourcequota",
    SHOOT_LIMIT_RANGE.plural,
)


def roles(name: str, namespace: str) -> Sequence[Object]:
    """`name`: the server's, and what all names begin with."""
    account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    everybody = {"kind": "Group", "name": "system:authenticated", "apiGroup": _RBAC}
    reader = f"{name}:cloudprofile-reader"
    return (
        _role(name, _server_rules()),
        _binding(name, name, account),
        _binding(f"{name}:auth-delegator", "system:auth-delegator", account),
        _authentication_reader(name, account),
        # The cluster's view, edit and admin take these up; edit holds view, admin holds edit.
        _role(f"{name}:view", (_rule(_VISIBLE, _READ),), aggregated_to="view"),
        _role(f"{name}:edit", (_rule((SHOOT.plural,), _WRITE),), aggregated_to="edit"),
        # A secret of one's own namespace is one's own to bind. Bindings to others' secrets carry
        # the quotas under which they were lent: who could change them would be rid of the quotas.
        _role(
            f"{name}:admin",
            (_rule((PRIVATE_SECRET_BINDING.plural,), _WRITE),),
            aggregated_to="admin",
        ),
        # Cluster-scoped, so no role within a namespace reaches it.
        _role(reader, (_rule((CLOUD_PROFILE.plural,), _READ),)),
        _binding(reader, reader, everybody),
        _role(f"{name}:operator", (_rule(("*",), ("*",)),)),
    )


def _server_rules() -> Sequence[Object]:
    return (
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": list(_READ)},
        # Whether a binding's secret exists; only its metadata is asked for, and none are listed.
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
    )


def _rule(resources: Sequence[str], verbs: Sequence[str]) -> Object:
    return {"apiGroups": [GROUP], "resources": list(resources), "verbs": list(verbs)}


def _role(name: str, rules: Sequence[Object], *, aggregated_to: str = "") -> Object:
    metadata: Object = {"name": name}
    if aggregated_to:
        metadata["labels"] = {f"{_RBAC}/aggregate-to-{aggregated_to}": "true"}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": list(rules),
    }


def _binding(name: str, role: str, subject: Mapping[str, str]) -> Object:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [dict(subject)],
    }


def _authentication_reader(name: str, account: Mapping[str, str]) -> Object:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{name}:authentication-reader", "namespace": "kube-system"},
        "roleRef": {
            "apiGroup": _RBAC,
            "kind": "Role",
            "name": "extension-apiserver-authentication-reader",
        },
        "subjects": [dict(account)],
    }
