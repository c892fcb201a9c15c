"""Paths and methods, read as kube-apiserver reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotaapi.endpoints.requestinfo import RequestInfo, parse

BASE = "/apis/garden.sapcloud.io/v1beta1"


def facts(info: RequestInfo) -> tuple[str, str, str, str, str]:
    return info.verb, info.resource, info.namespace, info.name, info.subresource


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/namespaces/ns/quotas/a", ("get", "quotas", "ns", "a", "")),
        ("HEAD", "/namespaces/ns/quotas/a", ("get", "quotas", "ns", "a", "")),
        ("GET", "/namespaces/ns/quotas", ("list", "quotas", "ns", "", "")),
        ("GET", "/namespaces/ns/quotas/", ("list", "quotas", "ns", "", "")),
        ("GET", "/quotas", ("list", "quotas", "", "", "")),
        ("GET", "/quotas?watch=true", ("watch", "quotas", "", "", "")),
        ("GET", "/quotas?limit=5&watch", ("watch", "quotas", "", "", "")),
        ("GET", "/quotas?watch=false", ("list", "quotas", "", "", "")),
        ("GET", "/quotas?watch=0", ("list", "quotas", "", "", "")),
        ("GET", "/quotas?w%61tch=%31", ("watch", "quotas", "", "", "")),
        ("GET", "/quotas?watch=%30", ("list", "quotas", "", "", "")),
        ("GET", "/quotas?labelSelector=watch%3D1", ("list", "quotas", "", "", "")),
        ("GET", "/watch/namespaces/ns/quotas", ("watch", "quotas", "ns", "", "")),
        ("POST", "/namespaces/ns/quotas", ("create", "quotas", "ns", "", "")),
        ("PUT", "/namespaces/ns/quotas/a", ("update", "quotas", "ns", "a", "")),
        ("PATCH", "/namespaces/ns/quotas/a/status", ("patch", "quotas", "ns", "a", "status")),
        ("DELETE", "/namespaces/ns/quotas/a", ("delete", "quotas", "ns", "a", "")),
        ("DELETE", "/namespaces/ns/quotas", ("deletecollection", "quotas", "ns", "", "")),
        ("OPTIONS", "/namespaces/ns/quotas", ("options", "quotas", "ns", "", "")),
        ("GET", "/cloudprofiles/aws", ("get", "cloudprofiles", "", "aws", "")),
        ("GET", "/namespaces/ns", ("get", "namespaces", "", "ns", "")),
        ("GET", "/namespaces/ns/quotas/a%2Eb", ("get", "quotas", "ns", "a.b", "")),
    ],
)
def test_a_resource_path_names_verb_resource_namespace_and_name(method, target, expected) -> None:
    info = parse(method, BASE + target)

    assert (facts(info), info.valid) == (expected, True)


@pytest.mark.parametrize(
    "path", ["/version", "/", "/apis", BASE, "/api/v1/pods", "/apis/other/v1/x"]
)
def test_any_other_path_names_no_resource(path) -> None:
    info = parse("GET", path)

    assert (info.resource, info.verb, info.path) == ("", "get", path)


@pytest.mark.parametrize(
    "target",
    [
        "/namespaces/ns/quotas/a%2Fb",
        "/namespaces/ns%2Fother/quotas",
        "/namespaces/ns/quotas/%FF",
        "/namespaces//quotas",
        "/namespaces/ns/quotas//status",
        "/namespaces/ns/quotas/a/status/more",
    ],
)
def test_a_segment_that_can_name_nothing_makes_the_path_invalid(target) -> None:
    assert not parse("GET", BASE + target).valid


@given(st.text(), st.sampled_from(["GET", "POST", "DELETE", "PATCH", "FOO"]))
def test_no_target_makes_parsing_fail(text, method) -> None:
    for target in (text, BASE + text, f"{BASE}/namespaces/{text}"):
        info = parse(method, target)
        assert "/" not in info.name + info.namespace + info.resource + info.subresource
