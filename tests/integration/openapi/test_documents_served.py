"""The documents through the whole server."""

from tests.harness.server import ServerProcess

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBECTL_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V3 = "/openapi/v3/apis/garden.sapcloud.io/v1beta1"


def test_the_index_leads_to_version_3(server: ServerProcess) -> None:
    index = server.request("GET", "/openapi/v3").json()

    address = index["paths"]["apis/garden.sapcloud.io/v1beta1"]["serverRelativeURL"]
    document = server.request("GET", address)
    assert document.json()["openapi"] == "3.0.0"
    assert document.headers["Cache-Control"] == "public, immutable"


def test_an_outdated_address_still_leads_to_it(server: ServerProcess) -> None:
    document = server.request("GET", f"{V3}?hash=0")

    assert document.json()["openapi"] == "3.0.0"
    assert [answer.status_code for answer in document.history] == [301]


def test_a_head_tells_length_and_hash_without_the_document(server: ServerProcess) -> None:
    plain = {"Accept-Encoding": "identity"}
    head = server.request("HEAD", V3, headers=plain)
    full = server.request("GET", V3, headers=plain)

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(full.content))
    assert head.headers["ETag"] == full.headers["ETag"]


def test_what_is_known_already_is_not_sent(server: ServerProcess) -> None:
    etag = server.request("GET", "/openapi/v2").headers["ETag"]
    again = server.request("GET", "/openapi/v2", headers={"If-None-Match": etag})

    assert (again.status_code, again.content) == (304, b"")


def test_old_kubectls_get_version_2_as_protobuf(server: ServerProcess) -> None:
    answer = server.request("GET", "/openapi/v2", headers={"Accept": KUBECTL_V2})

    assert answer.content.startswith(b"\x0a\x032.0")  # field 1 of the message: "2.0"


def test_discovery_is_aggregated_for_who_asks(server: ServerProcess) -> None:
    answer = server.request("GET", "/apis", headers={"Accept": f"{AGGREGATED},application/json"})

    assert answer.headers["Content-Type"] == AGGREGATED
    assert answer.json()["items"][0]["versions"][0]["freshness"] == "Current"


def test_a_document_is_only_read(server: ServerProcess) -> None:
    assert server.request("POST", "/openapi/v2", {}).status_code == 405


def test_the_root_lists_the_documents(server: ServerProcess) -> None:
    assert {"/openapi/v2", "/openapi/v3", V3} <= set(server.request("GET", "/").json()["paths"])
