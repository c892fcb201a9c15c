"""The three secret bindings."""

import pytest

from apis.garden.v1beta1.bindings import quotas_of, secret_of
from apis.garden.v1beta1.register import BY_KIND, CROSS_SECRET_BINDING
from apis.meta.transaction import NO_HEADER, Object
from tests.builders import a_binding, an_object
from tests.settled import faults, settle

KINDS = ("PrivateSecretBinding", "CrossSecretBinding", "SecretBinding")


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_namespace_is_the_bindings_own(kind: str) -> None:
    quotas = [{"name": "a"}, {"name": "b", "namespace": ""}, {"name": "c", "namespace": "x"}]
    binding = settle(
        an_object(kind, name="b", namespace="dev", secretRef={"name": "s"}, quotas=quotas)
    )

    assert [quota["namespace"] for quota in binding["quotas"]] == ["dev", "dev", "x"]
    assert secret_of(binding) == ("dev", "s")
    assert quotas_of(binding) == [("dev", "a"), ("dev", "b"), ("x", "c")]


def test_a_private_binding_names_no_namespace_of_its_secret() -> None:
    binding = an_object(
        "PrivateSecretBinding", name="b", namespace="dev", secretRef={"name": "s", "namespace": "x"}
    )

    assert BY_KIND["PrivateSecretBinding"].schema.prune(binding) == ["secretRef.namespace"]
    assert secret_of(binding) == ("dev", "s")


@pytest.mark.parametrize("kind", ["CrossSecretBinding", "SecretBinding"])
def test_a_shared_secret_comes_with_quotas_of_its_namespace_only(kind: str) -> None:
    binding = a_binding(kind=kind, quotas=["a"], quota_namespace="lender")
    binding["quotas"].append({"namespace": "garden-dev", "name": "own"})

    assert faults(binding) == [
        'quotas[1].namespace: Invalid value: "garden-dev": '
        "must be the namespace of the secret (lender)"
    ]


@pytest.mark.parametrize("kind", ["PrivateSecretBinding", "SecretBinding"])
def test_a_secret_of_ones_own_may_be_put_under_any_quota(kind: str) -> None:
    binding = an_object(
        kind,
        name="b",
        namespace="dev",
        secretRef={"name": "s"},
        quotas=[{"namespace": "sponsor", "name": "q"}],
    )

    assert faults(binding) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_quota_is_named_once(kind: str) -> None:
    assert faults(a_binding(kind=kind, quotas=["a", "a"])) == [
        'quotas[1]: Duplicate value: {"name":"a","namespace":"garden-trial"}'
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_secret_is_immutable_and_the_quotas_are_not(kind: str) -> None:
    old = a_binding(kind=kind, quotas=["a"])

    assert faults(a_binding(kind=kind, quotas=["b"]), old) == []
    [fault] = faults(a_binding(kind=kind, quotas=["a"], secret="other"), old)
    assert fault.startswith("secretRef: Invalid value: ")
    assert fault.endswith(": field is immutable")


@pytest.mark.parametrize("kind", KINDS)
def test_a_binding_has_a_secret(kind: str) -> None:
    assert faults(an_object(kind, name="b", namespace="dev")) == ["secretRef: Required value"]


@pytest.mark.parametrize("name", ["", "a/b", "A"])
def test_references_are_names_that_can_exist(name: str) -> None:
    binding = a_binding(secret=name, quotas=[name])

    assert [fault.split(":")[0] for fault in faults(binding)] == [
        "secretRef.name",
        "quotas[0].name",
    ]


def row(binding: Object) -> list[object]:
    return [column.cell(binding, NO_HEADER) for column in CROSS_SECRET_BINDING.columns[:2]]


def test_a_row_shows_secret_and_quotas_with_namespaces_that_are_not_its_own() -> None:
    assert row(a_binding(quotas=["a", "b"])) == [
        "garden-trial/account",
        "garden-trial/a, garden-trial/b",
    ]
    assert row(a_binding(quotas=["a"], quota_namespace="garden-dev")) == ["account", "a"]


def test_a_binding_is_found_by_each_of_its_quotas() -> None:
    binding = a_binding(quotas=["a", "b"])

    assert CROSS_SECRET_BINDING.indexes["quota"](binding) == ("garden-trial/a", "garden-trial/b")
