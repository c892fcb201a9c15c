"""What is hardly HTTP: paths, heads and bodies that no client library sends."""

import contextlib
import itertools
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apis.meta import codec
from tests.builders import a_quota
from tests.fuzz.strategies import GARBAGE
from tests.fuzz.target import Target
from tests.fuzz.wire import Answer, request
from tests.harness.server import GROUP_PATH

pytestmark = [pytest.mark.integration, pytest.mark.slow]

QUOTAS = f"{GROUP_PATH}/namespaces/garden-trial/quotas"
BODY = codec.encode(a_quota(name="never", metrics={"cpu": "1"}))
TYPED = "Content-Type: application/json\r\n"

_quick = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def post(head: str, body: bytes = BODY, path: str = QUOTAS) -> bytes:
    """A create that says of its body what `head` says."""
    return f"POST {path} HTTP/1.1\r\nHost: fuzz\r\n{TYPED}{head}\r\n".encode() + body


def refused(target: Target, data: bytes, *, method: str = "GET") -> Answer | None:
    """The answer, which must be no success; None where the server just closed the connection."""
    before = target.revision()
    answer = target.wire.send(data, method=method)
    target.judge(answer, before, reads=True)
    assert answer is None or answer.status >= 400, answer
    target.assert_alive()
    return answer


SEGMENTS = st.one_of(
    st.sampled_from(
        (
            *("", ".", "..", "%2e%2e", "%2E", "%2f", "%5c", "%00", "%0d%0a", "%ff%fe", "%c0%af"),
            *(
                "%",
                "%1",
                "%zz",
                "%25",
                "%2525",
                "namespaces",
                "quotas",
                "status",
                "watch",
                "*",
                ";",
            ),
            *("x" * 300, "a" * 5000, "~", "@", ":", "%E2%82%AC", "garden-trial", "quota", "-", "_"),
        )
    ),
    st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#?"), max_size=8
    ),
)


@_quick
@given(
    segments=st.lists(SEGMENTS, max_size=6),
    below=st.sampled_from(("", GROUP_PATH, QUOTAS, f"{QUOTAS}/quota", "/openapi/v3", "/readyz")),
    method=st.sampled_from(("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD")),
)
def test_paths(target: Target, segments, below, method) -> None:
    before = target.revision()
    path = below + "".join(f"/{segment}" for segment in segments)

    answer = target.wire.send(
        request(method, path or "/", [("Content-Type", "application/json")]), method=method
    )

    assert answer is not None
    # A DELETE may lawfully hit what the path does name.
    target.judge(answer, before, reads=method not in ("DELETE",))
    if method == "DELETE" and answer.status < 300:
        target.seed()


@pytest.mark.parametrize(
    "path",
    [
        f"{QUOTAS}/../quotas/quota",
        f"{QUOTAS}/..%2fquotas%2fquota",
        f"{QUOTAS}/quota/../../../../../../etc/passwd",
        f"{QUOTAS}//quota",
        f"{QUOTAS}/%2e%2e/quotas/quota",
        f"{QUOTAS}/quota%00",
        f"{QUOTAS}/quota%2fstatus",
        f"{QUOTAS}/%ff",
    ],
)
def test_a_path_is_taken_as_it_is_written(target: Target, path) -> None:
    """Neither dots nor escapes lead to another object."""
    answer = target.wire.send(request("GET", path))

    assert answer is not None
    assert answer.status in (301, 400, 404), answer


@pytest.mark.parametrize("length", [1_000, 60_000, 70_000, 1_000_000])
def test_a_long_path_or_query_is_answered(target: Target, length) -> None:
    for target_line in (f"/{'x' * length}", f"{QUOTAS}?labelSelector={'x' * length}"):
        answer = refused(target, request("GET", target_line))
        assert answer is None or answer.status in (400, 404, 414, 431)


@_quick
@given(query=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#")))
def test_queries(target: Target, query) -> None:
    before = target.revision()

    answer = target.wire.send(request("GET", f"{QUOTAS}?{query}"), streams="watch" in query)

    assert answer is not None
    target.judge(answer, before, reads=True)


@_quick
@given(
    name=st.sampled_from(
        (
            *("Accept", "Content-Type", "Accept-Encoding", "Authorization", "If-None-Match"),
            *("User-Agent", "Audit-Id", "Impersonate-User", "X-Remote-User", "X-Remote-Extra-a%zz"),
            *("Impersonate-Extra-scopes", "Transfer-Encoding"),
            *(
                "Cookie",
                "Range",
                "Expect",
                "Connection",
                "Upgrade",
                "X-Forwarded-For",
                "Te",
                "Date",
            ),
            *("Sec-WebSocket-Key", "Sec-WebSocket-Protocol", "Content-Encoding", "Origin"),
        )
    ),
    value=st.one_of(
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80).map(str.encode),
        st.binary(max_size=40).filter(lambda value: not set(value) & set(b"\r\n\x00")),
        st.sampled_from((b"a" * 8000, b",".join([b"*/*;q=0.1"] * 200), b"Bearer ", b"Basic !!!!")),
    ),
    path=st.sampled_from(
        (QUOTAS, f"{QUOTAS}/quota", "/openapi/v2", "/apis", "/readyz", "/metrics")
    ),
)
def test_headers(target: Target, name, value, path) -> None:
    before = target.revision()

    answer = target.wire.send(request("GET", path, [(name, value)]))

    target.judge(answer, before, reads=True)


@_quick
@given(
    method=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
    path=st.sampled_from((QUOTAS, f"{QUOTAS}/quota", f"{QUOTAS}/quota/status", "/", "/version")),
)
def test_methods(target: Target, method, path) -> None:
    before = target.revision()

    answer = target.wire.send(request(method, path), method=method)

    target.judge(answer, before, reads=method.upper() not in ("DELETE",))


@_quick
@given(data=st.one_of(st.binary(min_size=1, max_size=200), st.sampled_from(GARBAGE[1:])))
def test_what_is_no_http_at_all(target: Target, data) -> None:
    before = target.revision()

    try:
        answer = target.wire.send(b"x" + data[:60_000] + b"\r\n\r\n", seconds=0.2)
    except TimeoutError:
        answer = None  # it waits for more, of what might become a request

    target.judge(answer, before, reads=True)
    assert answer is None or answer.status >= 400


BODY_TYPES = (
    *("application/json", "application/yaml", "application/vnd.kubernetes.protobuf"),
    *("application/json-patch+json", "application/merge-patch+json"),
    *("application/strategic-merge-patch+json", "application/apply-patch+yaml"),
)

BROKEN_HEADS = {
    "no host": b"GET /version HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /nope HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "old HTTP": b"GET /nope\r\n\r\n",
    "future HTTP": b"GET /nope HTTP/9.9\r\nHost: a\r\n\r\n",
    "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no colon": b"GET /nope HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n",
    "space before colon": b"GET /nope HTTP/1.1\r\nHost : a\r\n\r\n",
    "folded header": b"GET /nope HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
    "bare line feeds": b"GET /nope HTTP/1.1\nHost: a\n\n",
    "null in a header": b"GET /nope HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
    "header as long as a book": b"GET /nope HTTP/1.1\r\nHost: a\r\nX: "
    + b"x" * 200_000
    + b"\r\n\r\n",
    "ten thousand headers": b"GET /nope HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
    "CONNECT": b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "absolute": b"GET http://elsewhere/nope HTTP/1.1\r\nHost: a\r\n\r\n",
    "star": b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "no path": b"GET  HTTP/1.1\r\nHost: a\r\n\r\n",
    "TLS in TLS": bytes.fromhex("16030100c8010000c40303") + b"\x00" * 60,
}


@pytest.mark.parametrize("head", BROKEN_HEADS.values(), ids=BROKEN_HEADS)
def test_a_broken_head_is_refused(target: Target, head) -> None:
    before = target.revision()

    answer = target.wire.send(head)

    target.judge(answer, before, reads=True)
    assert answer is None or answer.status >= 400 or b"version" in head
    target.assert_alive()


BROKEN_LENGTHS = {
    "negative": "Content-Length: -1\r\n",
    "words": "Content-Length: ten\r\n",
    "plus": "Content-Length: +5\r\n",
    "two that differ": f"Content-Length: 5\r\nContent-Length: {len(BODY)}\r\n",
    "a list": f"Content-Length: 5, {len(BODY)}\r\n",
    "huge": "Content-Length: 99999999999999999999\r\n",
    "too large": "Content-Length: 4000000\r\n",
    "both framings": f"Content-Length: {len(BODY)}\r\nTransfer-Encoding: chunked\r\n",
    "chunks that are none": "Transfer-Encoding: chunked\r\n",
    "unknown coding": "Transfer-Encoding: gzip\r\n",
    "unknown coding, chunked": "Transfer-Encoding: gzip, chunked\r\n",
    "no coding, chunked": "Transfer-Encoding: identity, chunked\r\n",
    "empty coding, chunked": "Transfer-Encoding: , chunked\r\n",
    "chunked twice": "Transfer-Encoding: chunked, chunked\r\n",
    "shorter than the body": f"Content-Length: {len(BODY) - 5}\r\n",
    "zero": "Content-Length: 0\r\n",
}


@pytest.mark.parametrize("head", BROKEN_LENGTHS.values(), ids=BROKEN_LENGTHS)
def test_a_body_of_a_wrong_length_is_refused(target: Target, head) -> None:
    refused(target, post(head), method="POST")
    target.wire.close()  # what is left of the body is no next request


@pytest.mark.parametrize(
    "coding", ["gzip, chunked", "identity, chunked", ", chunked", "x, chunked"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_transfer_coding_that_is_not_undone_is_a_501(target: Target, method, coding) -> None:
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    head = f"{method} {QUOTAS} HTTP/1.1\r\nHost: a\r\n{TYPED}Transfer-Encoding: {coding}\r\n\r\n"

    answer = refused(target, head.encode() + chunks, method=method)

    assert answer is not None
    assert answer.status == 501


def test_chunks_of_an_old_client_are_refused(target: Target) -> None:
    head = f"POST {QUOTAS} HTTP/1.0\r\n{TYPED}Transfer-Encoding: chunked\r\n\r\n"

    answer = refused(target, head.encode() + b"0\r\n\r\n", method="POST")

    assert answer is not None
    assert answer.status == 400


@pytest.mark.parametrize("version", ["HTTP/2.0", "HTTP/0.9"])
def test_another_version_is_answered_in_ours_that_it_is_not_served(target: Target, version) -> None:
    with target.wire.fresh() as connection:
        connection.sendall(f"GET {QUOTAS} {version}\r\nHost: a\r\n\r\n".encode())
        line = connection.makefile("rb").readline()

    assert line.startswith(b"HTTP/1.1 505 ")
    target.assert_quiet()


BROKEN_CHUNKS = {
    "negative size": b"-1\r\nx\r\n0\r\n\r\n",
    "size that is no number": b"zz\r\nx\r\n0\r\n\r\n",
    "no line after a chunk": b"1\r\nxy\r\n0\r\n\r\n",
    "more than the limit": b"".join(b"10000\r\n" + b" " * 65536 + b"\r\n" for _ in range(60))
    + b"0\r\n\r\n",
}


@pytest.mark.parametrize("chunks", BROKEN_CHUNKS.values(), ids=BROKEN_CHUNKS)
def test_broken_chunks_are_refused(target: Target, chunks) -> None:
    refused(target, post("Transfer-Encoding: chunked\r\n", chunks), method="POST")
    target.wire.close()


@pytest.mark.parametrize("head", ["Content-Length: 5000\r\n", "Transfer-Encoding: chunked\r\n"])
@pytest.mark.parametrize("leaves", [True, False], ids=["client leaves", "client waits"])
def test_a_body_that_never_comes_is_given_up(target: Target, head, leaves) -> None:
    before = target.revision()
    body = b"" if leaves else b"fffffffffffff\r\n{    \r\n"
    data = post(head, body)

    if leaves:
        target.wire.start(data)
        target.wire.close()
    else:
        answer = target.wire.send(data, method="POST", seconds=40)
        assert answer is None or answer.status in (400, 408, 504), answer
        target.wire.close()

    target.assert_alive()
    assert target.revision() == before
    target.assert_quiet()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_garbage_for_a_body(target: Target, method) -> None:
    path = QUOTAS if method == "POST" else f"{QUOTAS}/nope"
    for content_type, body in itertools.product(BODY_TYPES, GARBAGE):
        before = target.revision()
        headers = [("Content-Type", content_type)]
        answer = target.wire.send(request(method, path, headers, body), method=method)
        assert answer is not None
        target.judge(answer, before, reads=True)
        assert answer.status >= 400, answer


def test_who_sends_a_second_request_within_the_first_body_gets_two_answers_at_most(
    target: Target,
) -> None:
    """A body that looks like a request is a body."""
    smuggled = request("DELETE", f"{QUOTAS}/quota")
    before = target.revision()

    answer = target.wire.send(post(f"Content-Length: {len(smuggled)}\r\n", smuggled), method="POST")

    assert answer is not None
    assert answer.status == 400
    assert target.revision() == before


def test_what_is_no_tls_is_not_served(target: Target) -> None:
    with socket.create_connection(("127.0.0.1", target.server.port), 10) as plain:
        plain.sendall(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert b"200" not in plain.recv(1000)
    target.assert_alive()
    target.assert_quiet()
