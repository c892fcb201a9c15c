"""What a server that stands alone answers in place of a kube-apiserver."""

from pathlib import Path

import pytest

from apis.meta.request import UserInfo
from apis.meta.transaction import Object
from quotaapi.auth.interface import Attributes, Decision
from tests.builders import a_quota
from tests.fakes.http_server import QUOTAS, http_server

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
SUBJECT = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

PROTOBUF = "application/vnd.kubernetes.protobuf"


def review(kind: str, group: str = "authorization.k8s.io", **spec: object) -> Object:
    return {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}


def access(**asked: str) -> Object:
    return review("SelfSubjectAccessReview", resourceAttributes=asked)


class QuotasOnly:
    async def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        del user
        if attributes.resource == "quotas" or attributes.path.startswith("/apis/"):
            return Decision(allowed=True)
        return Decision(allowed=False, reason=f"no {attributes.verb} of {attributes.resource}")


async def test_the_authorizer_answers_what_one_may(certificates: Path) -> None:
    async with http_server(certificates, authorizer=QuotasOnly()) as server:
        yes = await server.session.post(ACCESS, json=access(verb="get", resource="quotas"))
        no = await server.session.post(ACCESS, json=access(verb="get", resource="shoots"))

        assert yes.status == no.status == 201
        assert (await yes.json())["status"] == {"allowed": True}
        assert (await no.json())["status"] == {"allowed": False, "reason": "no get of shoots"}


async def test_masters_may_everything(certificates: Path) -> None:
    async with http_server(certificates, authorizer=QuotasOnly()) as server:
        answer = await server.session.post(
            ACCESS,
            json=access(verb="get", resource="shoots"),
            headers={"Authorization": "Bearer root-token"},
        )

        assert (await answer.json())["status"] == {"allowed": True}


async def test_paths_are_asked_for_likewise(certificates: Path) -> None:
    async with http_server(certificates, authorizer=QuotasOnly()) as server:
        asked = review(
            "SelfSubjectAccessReview", nonResourceAttributes={"verb": "get", "path": "/metrics"}
        )
        answer = await server.session.post(ACCESS, json=asked)

        assert (await answer.json())["status"]["allowed"] is False


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"resourceAttributes": {}, "nonResourceAttributes": {}},
        {"resourceAttributes": []},
        {"resourceAttributes": {"verb": 1}},
        {"nonResourceAttributes": "get"},
    ],
)
async def test_a_question_that_is_none_is_refused(server, spec) -> None:
    answer = await server.session.post(ACCESS, json=review("SelfSubjectAccessReview", **spec))

    assert answer.status == 422


@pytest.mark.parametrize(
    "body",
    [
        {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"},
        {"kind": "SelfSubjectAccessReview"},
        [],
    ],
)
async def test_another_kind_is_refused(server, body) -> None:
    assert (await server.session.post(ACCESS, json=body)).status == 400


async def test_a_question_in_protobuf_is_answered_in_json(server) -> None:
    answer = await server.session.post(
        ACCESS,
        data=a_protobuf_question(),
        headers={"Content-Type": PROTOBUF, "Accept": f"{PROTOBUF},application/json"},
    )

    found = await answer.json()
    assert answer.status == 201, found
    assert found["spec"]["resourceAttributes"] == {
        "namespace": "ns",
        "verb": "get",
        "resource": "quotas",
    }
    assert found["status"] == {"allowed": True}


async def test_broken_protobuf_is_refused(server) -> None:
    for body in (b"", b"k8s", b"k8s\x00\x0a\xff", b"k8s\x00\x13", a_protobuf_question()[:-3]):
        answer = await server.session.post(ACCESS, data=body, headers={"Content-Type": PROTOBUF})
        assert answer.status == 400, body


async def test_the_rules_are_everything_for_who_may_everything(server) -> None:
    answer = await server.session.post(RULES, json=review("SelfSubjectRulesReview", namespace="ns"))

    status = (await answer.json())["status"]
    assert status["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert status["incomplete"] is False


async def test_rules_are_of_a_namespace(server) -> None:
    assert (await server.session.post(RULES, json=review("SelfSubjectRulesReview"))).status == 400


async def test_one_is_told_who_one_is(server) -> None:
    asked = review("SelfSubjectReview", "authentication.k8s.io")

    found = await (await server.session.post(SUBJECT, json=asked)).json()

    assert found["status"]["userInfo"] == {
        "username": "alice",
        "uid": "1",
        "groups": ["developers", "system:authenticated"],
    }


@pytest.mark.parametrize("path", [ACCESS, RULES, SUBJECT])
async def test_reviews_are_only_posted(server, path) -> None:
    for method in ("GET", "PUT", "DELETE"):
        assert (await server.session.request(method, path)).status == 405


async def test_every_namespace_is_there(server) -> None:
    found = await (await server.session.get("/api/v1/namespaces/any")).json()

    assert (found["kind"], found["metadata"]["name"]) == ("Namespace", "any")
    assert (await server.session.get("/api/v1/namespaces/No_Name")).status == 404
    assert (await server.session.delete("/api/v1/namespaces/any")).status == 404


async def test_the_core_group_is_empty(server) -> None:
    assert (await (await server.session.get("/api/v1")).json())["resources"] == []


@pytest.mark.parametrize(
    ("accept", "query", "status"),
    [
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "", 406),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "?includeObject=all", 400),
    ],
)
async def test_an_answer_that_cannot_be_given_is_told_before_the_write(
    server, accept, query, status
) -> None:
    answer = await server.session.post(
        QUOTAS + query, json=a_quota(name="a", namespace="ns"), headers={"Accept": accept}
    )

    assert answer.status == status
    assert (await server.session.get(f"{QUOTAS}/a")).status == 404


def a_protobuf_question() -> bytes:
    """As kubectl sends `auth can-i get quotas -n ns`; empty texts are there, too."""
    attributes = b"".join(
        _text(number, text)
        for number, text in enumerate(("ns", "get", "", "", "quotas", "", ""), 1)
    )
    review = _bytes(1, _text(1, "")) + _bytes(2, _bytes(1, attributes)) + _bytes(3, b"\x08\x00")
    kind = _text(1, "authorization.k8s.io/v1") + _text(2, "SelfSubjectAccessReview")
    return b"k8s\x00" + _bytes(1, kind) + _bytes(2, review) + _text(3, "") + _text(4, "")


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())


def _bytes(number: int, data: bytes) -> bytes:
    assert len(data) < 128
    return bytes((number << 3 | 2, len(data))) + data
