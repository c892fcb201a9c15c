"""The three bindings: they attach quotas to the secret of a cloud-provider account.

A private binding's secret lies in its own namespace, a cross binding's elsewhere; a
SecretBinding is either. Whoever lends a secret decides which budgets it is used under: with a
secret from another namespace come quotas of that namespace only.
"""

from collections.abc import Callable, Iterator, Mapping

from apis.garden.v1beta1.common import (
    AGE,
    bounded,
    list_at,
    namespace_name,
    object_name,
    own_namespace,
    reference_namespace,
    text_at,
)
from apis.meta import fields
from apis.meta.fields import FieldError
from apis.meta.resource import Column, Resource
from apis.meta.schema import Schema
from apis.meta.structure import ListOf, Struct
from apis.meta.transaction import Header, Object

MAX_QUOTAS = 16
"""More than one quota per scope is refused anyway; this bounds what is looked at to say so."""

_Rules = Callable[[Object, Object | None], Iterator[FieldError]]


def secret_of(binding: Object) -> tuple[str, str]:
    """(namespace, name) of a binding's secret."""
    namespace = text_at(binding, "secretRef", "namespace") or own_namespace(binding)
    return namespace, text_at(binding, "secretRef", "name")


def quotas_of(binding: Object) -> list[tuple[str, str]]:
    """(namespace, name) of each quota that a binding names, in its order."""
    own = own_namespace(binding)
    return [
        (text_at(reference, "namespace") or own, text_at(reference, "name"))
        for reference in list_at(binding, "quotas")
    ]


def _default_namespaces(obj: Object) -> None:
    own = own_namespace(obj)
    for reference in list_at(obj, "quotas"):
        reference_namespace(reference, own)


def _default_all_namespaces(obj: Object) -> None:
    reference_namespace(obj.get("secretRef"), own_namespace(obj))
    _default_namespaces(obj)


def _repeated_quotas(new: Object) -> Iterator[FieldError]:
    seen = set()
    for index, (namespace, name) in enumerate(quotas_of(new)):
        if name and (namespace, name) in seen:
            reference = {"namespace": namespace, "name": name}
            yield fields.duplicate(f"quotas[{index}]", reference)
        seen.add((namespace, name))


def _private_rules(new: Object, _old: Object | None) -> Iterator[FieldError]:
    return _repeated_quotas(new)


def _cross_rules(new: Object, _old: Object | None) -> Iterator[FieldError]:
    lender = secret_of(new)[0]
    detail = f"must be the namespace of the secret ({lender})"
    for index, (namespace, _name) in enumerate(quotas_of(new)):
        if namespace and lender and namespace != lender:
            yield fields.invalid(f"quotas[{index}].namespace", namespace, detail)
    yield from _repeated_quotas(new)


def _either_rules(new: Object, old: Object | None) -> Iterator[FieldError]:
    private = secret_of(new)[0] == own_namespace(new)
    return _private_rules(new, old) if private else _cross_rules(new, old)


def _secret_cell(obj: Object, _header: Header) -> object:
    namespace, name = secret_of(obj)
    return name if namespace == own_namespace(obj) else f"{namespace}/{name}"


def _quotas_cell(obj: Object, _header: Header) -> object:
    own = own_namespace(obj)
    named = (name if space == own else f"{space}/{name}" for space, name in quotas_of(obj))
    return ", ".join(named)


def _quota_keys(obj: Object) -> tuple[str, ...]:
    return tuple(f"{namespace}/{name}" for namespace, name in quotas_of(obj))


def _schema(doc: str, secret: Struct) -> Schema:
    quota = Struct(
        doc="A quota.",
        fields={
            "namespace": namespace_name("Its namespace. Absent: the binding's own."),
            "name": object_name("Its name."),
        },
        required=("name",),
    )
    quotas = ListOf(
        doc="The quotas that the binding's clusters are charged to, one per scope at most.",
        items=quota,
        max_items=MAX_QUOTAS,
    )
    return Schema(
        Struct(doc=doc, fields={"secretRef": secret, "quotas": quotas}, required=("secretRef",))
    )


_NAME = object_name("Its name.")
_LOCAL_SECRET = Struct(
    doc="The secret of the cloud-provider account, in the binding's namespace.",
    fields={"name": _NAME},
    required=("name",),
    immutable=True,
)
_ANY_SECRET = Struct(
    doc="The secret of the cloud-provider account.",
    fields={
        "namespace": namespace_name("Its namespace. Absent: the binding's own."),
        "name": _NAME,
    },
    required=("name",),
    immutable=True,
)


def _binding(
    kind: str,
    *,
    short_name: str,
    schema: Schema,
    defaults: Callable[[Object], None],
    rules: _Rules,
) -> Resource:
    return Resource(
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        short_names=(short_name,),
        schema=schema,
        columns=(
            Column("Secret", _secret_cell, description="The secret of the account."),
            Column("Quotas", _quotas_cell, description="The quotas that clusters are charged to."),
            AGE,
        ),
        defaults=defaults,
        rules=bounded(rules),
        indexes={"quota": _quota_keys},
    )


PRIVATE_SECRET_BINDING = _binding(
    "PrivateSecretBinding",
    short_name="psb",
    schema=_schema("Attaches quotas to a secret of the same namespace.", _LOCAL_SECRET),
    defaults=_default_namespaces,
    rules=_private_rules,
)

CROSS_SECRET_BINDING = _binding(
    "CrossSecretBinding",
    short_name="csb",
    schema=_schema("Attaches quotas to a secret of another namespace.", _ANY_SECRET),
    defaults=_default_all_namespaces,
    rules=_cross_rules,
)

SECRET_BINDING = _binding(
    "SecretBinding",
    short_name="sb",
    schema=_schema("Attaches quotas to a secret, whether it is shared or not.", _ANY_SECRET),
    defaults=_default_all_namespaces,
    rules=_either_rules,
)

BINDING_PLURALS: Mapping[str, str] = {
    resource.kind: resource.plural
    for resource in (PRIVATE_SECRET_BINDING, CROSS_SECRET_BINDING, SECRET_BINDING)
}
