"""Aggregated discovery, and the plain one for who does not ask for it."""

import pytest

from apis.garden.v1beta1.register import BY_PLURAL, RESOURCES
from apis.meta import codec
from apis.meta.transaction import Object
from quotaapi.endpoints import aggregated, discovery
from tests.unit.openapi.exchanges import body, get

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BETA = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
NO_PEER = f"{V2};profile=nopeer"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"

PAGES = aggregated.wrap(discovery.pages(RESOURCES, ()), RESOURCES)


async def groups(accept: str = V2) -> list[Object]:
    found = codec.decode_json(body(await get(PAGES, "/apis", {"Accept": accept}))).value
    assert found["kind"] == "APIGroupDiscoveryList"
    items: list[Object] = found["items"]
    return items


async def resources() -> dict[str, Object]:
    (version,) = (await groups())[0]["versions"]
    return {resource["resource"]: resource for resource in version["resources"]}


async def test_the_group_has_its_version_and_is_fresh() -> None:
    (group,) = await groups()

    assert group["metadata"]["name"] == "garden.sapcloud.io"
    assert [(each["version"], each["freshness"]) for each in group["versions"]] == [
        ("v1beta1", "Current")
    ]


async def test_every_kind_is_listed_as_in_plain_discovery() -> None:
    plain = codec.decode_json(body(await get(PAGES, "/apis/garden.sapcloud.io/v1beta1"))).value
    found = await resources()

    for one in plain["resources"]:
        name, _, subresource = one["name"].partition("/")
        listed = found[name]
        if subresource:
            by_name = {each["subresource"]: each for each in listed["subresources"]}
            listed = by_name[subresource]
        else:
            assert listed["scope"] == ("Namespaced" if one["namespaced"] else "Cluster")
            assert listed["singularResource"] == one["singularName"]
            assert listed.get("shortNames", []) == one.get("shortNames", [])
        assert (listed["verbs"], listed["responseKind"]["kind"]) == (one["verbs"], one["kind"])
    assert set(found) == set(BY_PLURAL)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (V2, V2),
        (BETA, BETA),
        (f"{V2},{BETA},application/json", V2),
        (f"{BETA},{V2}", BETA),
        (f"{NO_PEER},application/json", V2),
        (f"application/vnd.kubernetes.protobuf;as=APIGroupDiscoveryList;g=x;v=v2,{V2}", V2),
        (f"{TABLE},{V2}", V2),
    ],
)
async def test_the_first_version_that_is_asked_for_is_answered(accept, content_type) -> None:
    answer = await get(PAGES, "/apis", {"Accept": accept})

    assert answer.headers["Content-Type"] == content_type


@pytest.mark.parametrize(
    "accept", ["", "application/json", "*/*", f"application/json,{V2}", f"{V2};q=0,*/*"]
)
async def test_who_does_not_prefer_it_gets_the_plain_document(accept) -> None:
    answer = await get(PAGES, "/apis", {"Accept": accept})

    assert codec.decode_json(body(answer)).value["kind"] == "APIGroupList"


async def test_a_version_that_is_not_there_falls_back_to_the_plain_document() -> None:
    accept = V2.replace("v=v2", "v=v3")

    answer = await get(PAGES, "/apis", {"Accept": f"{accept},application/json"})

    assert codec.decode_json(body(answer)).value["kind"] == "APIGroupList"


async def test_there_is_nothing_in_the_core_group() -> None:
    answer = await get(PAGES, "/api", {"Accept": V2})

    assert codec.decode_json(body(answer)).value["items"] == []


async def test_the_aggregator_keeps_what_has_not_changed() -> None:
    etag = (await get(PAGES, "/apis", {"Accept": V2})).headers["ETag"]
    answer = await get(PAGES, "/apis", {"Accept": V2, "If-None-Match": etag})

    assert (answer.status, answer.headers["Cache-Control"]) == (304, "public")
