"""A namespace asks for deletions of its Shoots to be confirmed; what follows another deletion is not."""

import pytest

from apis.garden.v1beta1.shoot import CONFIRMATION
from quotaapi.auth.namespaces import CONFIRMS_DELETION
from tests.builders import a_binding, a_profile, a_quota, a_shoot

pytestmark = pytest.mark.integration


async def test_a_namespace_protects_its_shoots_from_people_and_not_from_the_cluster(
    server, cluster, authorities, namespace
) -> None:
    admin = authorities.users.client("root", "system:masters")
    cluster.secrets.add((namespace, "account"))
    binding = a_binding(namespace=namespace, quotas=["quota"], quota_namespace=namespace)
    shoots = f"namespaces/{namespace}/shoots"
    for path, obj in (
        ("cloudprofiles", a_profile(name=f"of-{namespace}")),
        (f"namespaces/{namespace}/quotas", a_quota(namespace=namespace)),
        (f"namespaces/{namespace}/crosssecretbindings", binding),
        *(
            (shoots, a_shoot(name=name, namespace=namespace, profile=f"of-{namespace}"))
            for name in ("open", "kept", "confirmed", "collected")
        ),
    ):
        status, answer = await server.ask(path, pair=admin, method="POST", body=obj)
        assert status == 201, answer
    _, confirmed = await server.ask(f"{shoots}/confirmed", pair=admin)
    confirmed["metadata"].setdefault("annotations", {})[CONFIRMATION] = "true"
    await server.ask(f"{shoots}/confirmed", pair=admin, method="PUT", body=confirmed)

    async def delete(path: str, user: str) -> int:
        pair = authorities.users.client(user, "system:authenticated")
        status, answer = await server.ask(path, pair=pair, method="DELETE")
        assert status == 200 or answer["message"].endswith(
            'must have a "confirmation.garden.sapcloud.io/deletion" annotation to delete (value "true")'
        )
        return int(status)

    assert await delete(f"{shoots}/open", "member") == 200
    cluster.add_namespace(namespace, annotations={CONFIRMS_DELETION: "true"})
    # The watch brings the annotation when it does; a dry run tells when it has.
    while await delete(f"{shoots}/kept?dryRun=All", "member") == 200:
        pass

    assert await delete(f"{shoots}/kept", "member") == 403
    assert await delete(f"{shoots}/confirmed", "member") == 200
    collector = "system:serviceaccount:kube-system:generic-garbage-collector"
    assert await delete(f"{shoots}/collected", collector) == 200
    assert await delete(shoots, "member") == 403
    assert await delete(shoots, "system:serviceaccount:kube-system:namespace-controller") == 200
    _, left = await server.ask(shoots, pair=admin)
    assert left["items"] == []
