"""Requests and answers: paths, media types, bodies, statuses."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest

from apis.meta import codec, errors
from quotaapi.endpoints.exchange import MAX_BODY_BYTES
from quotaapi.registry.options import DeleteOptions, WriteOptions
from tests.builders import a_quota
from tests.fakes.http_server import GROUP_PATH, QUOTAS, HttpServer, http_server

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


async def create(server: HttpServer, name: str = "a") -> None:
    answer = await server.session.post(QUOTAS, json=a_quota(name=name, namespace="ns"))
    assert answer.status == 201, await answer.text()


async def test_delete_options_that_are_no_document_are_refused(server) -> None:
    answer = await server.session.delete(
        f"{QUOTAS}/a", data=b"{", headers={"Content-Type": "application/json"}
    )

    assert (answer.status, (await answer.json())["reason"]) == (400, "BadRequest")


async def test_an_object_is_created_read_and_deleted(server) -> None:
    created = await server.session.post(QUOTAS, json=a_quota(name="a", namespace="ns"))
    read = await server.session.get(f"{QUOTAS}/a")
    deleted = await server.session.delete(f"{QUOTAS}/a")
    gone = await server.session.get(f"{QUOTAS}/a")

    assert [answer.status for answer in (created, read, deleted, gone)] == [201, 200, 200, 404]
    assert await created.json() == await read.json()
    assert (await deleted.json())["status"] == "Success"
    assert (await gone.json())["reason"] == "NotFound"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "POST", "DELETE"])
async def test_a_subresource_that_a_kind_does_not_have_is_named(server, method) -> None:
    """kubectl shows the message: "quotas "a" not found" would send people looking for the quota."""
    await create(server)

    answer = await server.session.request(method, f"{QUOTAS}/a/scale")

    status = await answer.json()
    assert (answer.status, status["reason"], status["details"]["name"]) == (404, "NotFound", "a")
    assert status["message"] == (
        'quotas.garden.sapcloud.io has no subresource "scale" (it has: status)'
    )


async def test_every_answer_has_an_audit_id_and_is_not_to_be_cached(server) -> None:
    for path in (f"{QUOTAS}/missing", "/nowhere", "/readyz", QUOTAS):
        answer = await server.session.get(path, headers={"Audit-Id": "from-the-proxy"})
        assert answer.headers["Audit-Id"] == "from-the-proxy"
        assert answer.headers["Cache-Control"] == "no-cache, private"
        assert answer.headers["Server"] == "quotaapi"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/apis/garden.sapcloud.io/v9", 404),
        ("GET", f"{GROUP_PATH}/nosuch", 404),
        ("GET", f"{GROUP_PATH}/namespaces/ns", 404),
        ("GET", f"{GROUP_PATH}/namespaces/ns/cloudprofiles", 404),
        ("DELETE", f"{GROUP_PATH}/namespaces/ns/cloudprofiles", 404),
        ("DELETE", f"{GROUP_PATH}/quotas", 404),
        ("POST", f"{GROUP_PATH}/quotas", 404),
        ("GET", f"{GROUP_PATH}/quotas/a", 404),
        ("GET", f"{QUOTAS}/a%2Fb", 404),
        ("GET", f"{QUOTAS}/a/status/more", 404),
    ],
)
async def test_a_path_that_does_not_exist_is_plain_text_404(server, method, path, status) -> None:
    answer = await server.session.request(method, _unquoted(path))

    assert (answer.status, await answer.text()) == (status, "404 page not found\n")
    assert answer.content_type == "text/plain"


def _unquoted(path: str) -> object:
    from yarl import URL

    return URL(path, encoded=True)


async def test_a_namespace_cannot_empty_the_clusters_objects(server) -> None:
    await server.session.post(
        f"{GROUP_PATH}/cloudprofiles",
        json={
            "apiVersion": "garden.sapcloud.io/v1beta1",
            "kind": "CloudProfile",
            "metadata": {"name": "aws"},
        },
    )

    await server.session.delete(f"{GROUP_PATH}/namespaces/ns/cloudprofiles")

    assert [name for _, name in server.profiles.records] == ["aws"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", QUOTAS, 400),
        ("PATCH", QUOTAS, 400),
        ("GET", f"{QUOTAS}/a/nosuch", 404),
        ("DELETE", f"{QUOTAS}/a/status", 405),
        ("OPTIONS", QUOTAS, 405),
        ("POST", f"{GROUP_PATH}/namespaces/ns/quotausages", 405),
        ("DELETE", f"{GROUP_PATH}/namespaces/ns/quotausages", 405),
        ("POST", "/version", 405),
    ],
)
async def test_a_verb_that_does_not_fit_is_a_status(server, method, path, status) -> None:
    answer = await server.session.request(method, path)

    assert (answer.status, (await answer.json())["kind"]) == (status, "Status")


async def test_head_is_a_get_without_its_body(server) -> None:
    await create(server)

    answer = await server.session.head(f"{QUOTAS}/a")

    assert (answer.status, await answer.read()) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0


async def test_yaml_goes_in_and_out(server) -> None:
    body = codec.encode_yaml(a_quota(name="y", namespace="ns"))
    headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}

    answer = await server.session.post(QUOTAS, data=body, headers=headers)

    assert (answer.status, answer.content_type) == (201, "application/yaml")
    assert codec.decode_yaml(await answer.read()).value["metadata"]["name"] == "y"


async def test_a_body_without_a_media_type_is_json(server) -> None:
    answer = await server.session.post(
        QUOTAS,
        data=codec.encode(a_quota(name="a", namespace="ns")),
        skip_auto_headers=("Content-Type",),
    )

    assert answer.status == 201


async def test_other_media_types_are_415_and_nothing_is_stored(server) -> None:
    answer = await server.session.post(QUOTAS, data=b"{}", headers={"Content-Type": "text/plain"})

    assert (answer.status, server.quotas.records) == (415, {})


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/merge-patch+json", 200),
        ("application/strategic-merge-patch+json", 200),
        ("application/apply-patch+yaml", 422),  # an apply has to name its manager
        ("application/json", 415),
        ("", 415),
    ],
)
async def test_a_patch_is_what_its_media_type_says(server, media_type, status) -> None:
    await create(server)

    answer = await server.session.patch(
        f"{QUOTAS}/a",
        data=b'{"metadata":{"labels":{"x":"y"}}}',
        headers={"Content-Type": media_type},
        skip_auto_headers=("Content-Type",),
    )

    assert answer.status == status


async def test_an_apply_is_yaml_and_creates(server) -> None:
    answer = await server.session.patch(
        f"{QUOTAS}/a?fieldManager=me&force=true",
        data=codec.encode_yaml(a_quota(name="a", namespace="ns")),
        headers={"Content-Type": "application/apply-patch+yaml"},
    )

    assert answer.status == 201
    assert server.quotas.options[-1] == WriteOptions(field_manager="me", force=True)


async def test_an_apply_of_what_is_no_yaml_is_a_400(server) -> None:
    answer = await server.session.patch(
        f"{QUOTAS}/a?fieldManager=me",
        data=b"a: [",
        headers={"Content-Type": "application/apply-patch+yaml"},
    )

    assert answer.status == 400
    assert (await answer.json())["message"].startswith("error decoding YAML: ")


async def test_a_json_patch_is_applied(server) -> None:
    await create(server)
    operations = [{"op": "replace", "path": "/spec/metrics/cpu", "value": "7"}]

    answer = await server.session.patch(
        f"{QUOTAS}/a", json=operations, headers={"Content-Type": "application/json-patch+json"}
    )

    assert (await answer.json())["spec"]["metrics"] == {"cpu": "7"}


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
async def test_a_patch_that_says_a_field_twice_is_told_so_as_asked(server, validation) -> None:
    await create(server)

    answer = await server.session.patch(
        f"{QUOTAS}/a?fieldValidation={validation}",
        data=b'{"metadata":{"labels":{"a":"1","a":"2"}}}',
        headers={"Content-Type": "application/merge-patch+json"},
    )

    warning = '299 - "duplicate field \\"metadata.labels.a\\""'
    assert (answer.status, answer.headers.get("Warning")) == {
        "Strict": (422, None),
        "Warn": (200, warning),
        "Ignore": (200, None),
    }[validation]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "json parse error: unexpected end of JSON input ({)"),
        (b"", "json parse error: unexpected end of JSON input (<empty>)"),
        (b"null", "Object 'Kind' is missing in 'null' (6e756c6c)"),
        (b"[]", "(5b5d)"),
        (b'"' + b"x" * 100 + b'"', "..."),
    ],
)
async def test_a_body_that_is_no_object_is_a_400_that_shows_its_beginning(
    server, body, message
) -> None:
    answer = await server.session.post(
        QUOTAS, data=body, headers={"Content-Type": "application/json"}
    )

    assert answer.status == 400
    shown = (await answer.json())["message"]
    assert shown.startswith("the object provided is unrecognized (must be of type Quota): ")
    assert message in shown
    assert len(shown) < 400


async def test_a_body_that_is_too_long_is_refused_by_its_length_alone(server) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=server.client_ssl()
    )
    writer.write(
        f"POST {QUOTAS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n"
        f"Content-Length: {MAX_BODY_BYTES + 1}\r\n\r\n".encode()
    )

    status = await reader.readline()

    assert b" 413 " in status
    writer.close()


async def test_a_body_that_grows_too_long_is_refused(server) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 65536 + 1):
            yield b" " * 65536

    answer = await server.session.post(
        QUOTAS, data=chunks(), headers={"Content-Type": "application/json"}
    )

    assert (answer.status, (await answer.json())["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_client_that_waits_to_be_invited_is(server) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=server.client_ssl()
    )
    body = codec.encode(a_quota(name="a", namespace="ns"))
    writer.write(
        f"POST {QUOTAS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n"
        f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )

    invitation = await reader.readline()
    await reader.readline()
    writer.write(body)
    status = await reader.readline()

    assert (invitation, status) == (b"HTTP/1.1 100 Continue\r\n", b"HTTP/1.1 201 Created\r\n")
    writer.close()


async def test_what_is_no_http_is_answered_with_a_status(server) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=server.client_ssl()
    )
    writer.write(b"NONSENSE\r\n\r\n")

    answer = await reader.read()

    assert b" 400 " in answer.splitlines()[0]
    assert b'"kind":"Status"' in answer
    assert b"Traceback" not in answer
    writer.close()


async def test_warnings_are_headers(server) -> None:
    await create(server)

    answer = await server.session.put(f"{QUOTAS}/a", json=a_quota(name="a", namespace="ns"))

    assert answer.headers["Warning"] == '299 - "fake warning"'


async def test_options_reach_the_registry(server) -> None:
    await server.session.post(
        f"{QUOTAS}?dryRun=All&fieldManager=me&fieldValidation=Ignore",
        json=a_quota(name="a", namespace="ns"),
    )
    await create(server, "b")
    await server.session.delete(
        f"{QUOTAS}/b", json={"preconditions": {"uid": "u"}, "dryRun": ["All"]}
    )

    assert server.quotas.options[0] == WriteOptions(
        dry_run=True, field_manager="me", field_validation="Ignore"
    )
    assert server.quotas.options[-1] == DeleteOptions(dry_run=True, uid="u")


async def test_a_list_is_the_stored_bytes_joined(server) -> None:
    await create(server, "a")
    await create(server, "b")

    answer = await server.session.get(f"{GROUP_PATH}/quotas", params={"limit": "1"})
    found = await answer.json()

    assert [found["kind"], [item["metadata"]["name"] for item in found["items"]]] == [
        "QuotaList",
        ["a"],
    ]
    assert found["metadata"] == {
        "continue": "more",
        "remainingItemCount": 1,
        "resourceVersion": str(server.quotas.version),
    }


async def test_a_long_list_arrives_whole(server) -> None:
    for number in range(3000):
        quota = a_quota(name=f"q{number:04d}", namespace="ns")
        quota["metadata"]["annotations"] = {"filler": "x" * 300}
        server.quotas._store("ns", f"q{number:04d}", quota)

    found = await (await server.session.get(QUOTAS)).json()

    assert [item["metadata"]["name"] for item in found["items"]] == [
        f"q{n:04d}" for n in range(3000)
    ]


PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def store_many(server: HttpServer, count: int) -> list[str]:
    names = [f"q{number:04d}" for number in range(count)]
    for name in names:
        quota = a_quota(name=name, namespace="ns")
        quota["metadata"]["annotations"] = {"filler": "x" * 300}
        server.quotas._store("ns", name, quota)
    return names


@pytest.mark.parametrize(
    ("accept", "items"),
    [
        ("application/json", "items"),
        (PARTIAL_LIST, "items"),
        (TABLE, "rows"),
        ("application/yaml", "items"),
        (f"{TABLE.replace('json', 'yaml')}", "rows"),
    ],
)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("count", [300, 1000])
async def test_a_large_answer_arrives_whole_and_compressed_where_that_is_asked_for(
    server, accept, items, encoding, count
) -> None:
    names = store_many(server, count)

    answer = await server.session.get(
        QUOTAS, headers={"Accept": accept, "Accept-Encoding": encoding}
    )

    found = codec.decode_yaml(await answer.read()).value[items]
    shown = [item.get("object", item)["metadata"]["name"] for item in found]
    assert shown == names
    assert answer.headers.get("Content-Encoding", "identity") == encoding
    assert answer.headers["Vary"] == "Accept-Encoding"


async def test_a_small_answer_is_never_compressed(server) -> None:
    store_many(server, 100)

    answer = await server.session.get(QUOTAS, headers={"Accept-Encoding": "gzip"})

    assert await answer.read()
    assert "Content-Encoding" not in answer.headers
    assert "Vary" not in answer.headers


@pytest.mark.parametrize("count", [0, 300, 1000])
async def test_head_of_a_large_answer_has_no_body(server, count) -> None:
    store_many(server, count)

    answer = await server.session.head(QUOTAS, headers={"Accept-Encoding": "identity"})
    same = await server.session.get(QUOTAS, headers={"Accept-Encoding": "identity"})

    assert await answer.read() == b""
    assert int(answer.headers["Content-Length"]) == len(await same.read())


async def test_an_empty_list_has_its_items(server) -> None:
    found = await (await server.session.get(QUOTAS)).json()

    assert (found["items"], found["metadata"]["continue"]) == ([], "")


async def test_a_table_has_columns_and_a_row_for_each_object(server) -> None:
    await create(server)

    answer = await server.session.get(QUOTAS, headers={"Accept": f"{TABLE},application/json"})
    found = await answer.json()

    assert found["kind"] == "Table"
    cells = dict(
        zip([c["name"] for c in found["columnDefinitions"]], found["rows"][0]["cells"], strict=True)
    )
    assert (cells["Name"], cells["Scope"], cells["Age"]) == ("a", "secret", "60s")
    assert found["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("include", "kind"),
    [("Object", "Quota"), ("Metadata", "PartialObjectMetadata"), ("None", None)],
)
async def test_a_row_brings_along_what_is_asked_for(server, include, kind) -> None:
    await create(server)

    answer = await server.session.get(
        f"{QUOTAS}/a", params={"includeObject": include}, headers={"Accept": TABLE}
    )

    brought = (await answer.json())["rows"][0]["object"]
    assert (brought and brought["kind"]) == kind


async def test_partial_metadata_of_a_list_is_refused_in_favour_of_the_list_kind(server) -> None:
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

    answer = await server.session.get(QUOTAS, headers={"Accept": accept})

    assert answer.status == 406


async def test_people_get_indented_json(server) -> None:
    await create(server)

    for headers, query in (({"User-Agent": "curl/8"}, ""), ({}, "?pretty=true")):
        answer = await server.session.get(f"{QUOTAS}/a{query}", headers=headers)
        assert (await answer.text()).startswith('{\n  "')


async def test_retryable_refusals_say_when_to_come_again(server) -> None:
    server.quotas.read_error = errors.service_unavailable("etcd is away", 3)

    answer = await server.session.get(f"{QUOTAS}/a")

    assert (answer.status, answer.headers["Retry-After"]) == (503, "3")
    assert (await answer.json())["details"]["retryAfterSeconds"] == 3


async def test_an_unexpected_fault_is_a_500_without_its_trace_and_the_log_has_it(
    server, caplog
) -> None:
    server.quotas.read_error = ZeroDivisionError("secret detail")

    answer = await server.session.get(f"{QUOTAS}/a")
    text = await answer.text()

    assert (answer.status, (await answer.json())["reason"]) == (500, "InternalError")
    assert "secret detail" not in text
    assert answer.headers["Audit-Id"] in text
    assert "ZeroDivisionError" in caplog.text
    assert answer.headers["Audit-Id"] in caplog.text


async def test_a_request_that_takes_too_long_is_a_504(certificates) -> None:
    async with http_server(certificates, timeout_seconds=0.05) as server:
        go = asyncio.get_running_loop().create_future()
        server.quotas.before_write = lambda: asyncio.shield(go)

        answer = await server.session.post(QUOTAS, json=a_quota(name="a", namespace="ns"))
        go.set_result(None)

    assert (answer.status, (await answer.json())["reason"]) == (504, "Timeout")


@pytest.mark.parametrize(("wanted", "status"), [("10ms", 504), ("soon", 400)])
async def test_a_client_may_ask_for_less_time(server, wanted, status) -> None:
    go = asyncio.get_running_loop().create_future()
    server.quotas.before_write = lambda: asyncio.shield(go)

    answer = await server.session.post(
        f"{QUOTAS}?timeout={wanted}", json=a_quota(name="a", namespace="ns")
    )
    go.set_result(None)

    assert answer.status == status


async def test_a_write_whose_client_left_is_carried_out(server) -> None:
    begun, go = asyncio.Event(), asyncio.get_running_loop().create_future()

    def wait() -> asyncio.Future[None]:
        begun.set()
        return asyncio.shield(go)

    server.quotas.before_write = wait
    request = asyncio.ensure_future(
        server.session.post(QUOTAS, json=a_quota(name="a", namespace="ns"))
    )
    await begun.wait()
    request.cancel()
    await asyncio.wait([request])
    go.set_result(None)

    assert await server.mutations.wait_idle(5)
    assert list(server.quotas.records) == [("ns", "a")]


async def test_a_server_speaks_only_tls_1_2_and_newer(server) -> None:
    context = server.client_ssl()
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1

    # The reset may be there before the alert is read.
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
