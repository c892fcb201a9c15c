"""QuotaUsage: what one namespace's clusters are charged on one quota. The server's own ledger."""

from apis.garden.v1beta1.common import (
    AGE,
    amounts_text,
    dict_at,
    metric_quantities,
    namespace_name,
    object_name,
    text_at,
    text_cell,
    usage_text,
)
from apis.garden.v1beta1.quota import SCOPES
from apis.meta.resource import Column, Resource
from apis.meta.schema import Schema
from apis.meta.structure import String, Struct
from apis.meta.transaction import Header, Object


def _quota(obj: Object) -> str:
    return "/".join(
        (text_at(obj, "spec", "quotaRef", "namespace"), text_at(obj, "spec", "quotaRef", "name"))
    )


def _used(obj: Object, _header: Header) -> object:
    used, hard = dict_at(obj, "status", "used"), dict_at(obj, "status", "hard")
    rest = {name: amount for name, amount in used.items() if name not in hard}
    return ", ".join(filter(None, (usage_text(used, hard), amounts_text(rest))))


QUOTA_USAGE = Resource(
    kind="QuotaUsage",
    plural="quotausages",
    singular="quotausage",
    short_names=("qu",),
    schema=Schema(
        Struct(
            doc="What the clusters of this namespace are charged on one quota.",
            fields={
                "spec": Struct(
                    doc="Which quota.",
                    fields={
                        "quotaRef": Struct(
                            doc="The quota.",
                            fields={
                                "namespace": namespace_name("The namespace of the quota."),
                                "name": object_name("The name of the quota."),
                            },
                            required=("namespace", "name"),
                            immutable=True,
                        ),
                        "scope": String(doc="The scope of the quota.", enum=SCOPES, immutable=True),
                    },
                    required=("quotaRef", "scope"),
                ),
                "status": Struct(
                    doc="What is used.",
                    fields={
                        "used": metric_quantities("What the clusters of this namespace use."),
                        "hard": metric_quantities(
                            "What they may use; for quotas of scope `project`, whose budget is "
                            "this namespace's alone."
                        ),
                    },
                ),
            },
            required=("spec",),
        )
    ),
    columns=(
        Column("Quota", lambda obj, _header: _quota(obj), description="The quota."),
        Column("Scope", text_cell("spec", "scope"), description="The scope of the quota."),
        Column("Used", _used, description="Used and, for a project's quota, allowed."),
        AGE,
    ),
    read_only=True,
    selectable_fields={
        "spec.quotaRef.namespace": lambda obj: text_at(obj, "spec", "quotaRef", "namespace"),
        "spec.quotaRef.name": lambda obj: text_at(obj, "spec", "quotaRef", "name"),
    },
    indexes={"quota": lambda obj: (_quota(obj),)},
)
