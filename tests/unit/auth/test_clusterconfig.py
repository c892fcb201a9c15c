"""The ConfigMap of the cluster."""

import pytest

from quotaapi.auth.clusterconfig import Malformed, parse
from quotaapi.auth.requestheader import RequestHeaders
from tests.frontproxy.pki import Authority


def test_it_names_authorities_names_and_headers(tmp_path) -> None:
    pem = Authority(tmp_path, "proxies").pem

    trust = parse(
        {
            "client-ca-file": Authority(tmp_path, "users").pem,
            "requestheader-client-ca-file": pem,
            "requestheader-allowed-names": '["a","b"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-uid-headers": '["X-Remote-Uid"]',
        }
    )

    assert trust.headers == RequestHeaders(
        frozenset({"a", "b"}), ("X-Remote-User",), ("X-Remote-Uid",), ("X-Remote-Group",),
        ("X-Remote-Extra-",),
    )  # fmt: skip
    assert trust.proxy.pem == pem.encode()
    assert trust.client.der


def test_without_an_authority_for_proxies_no_headers_are_heard(tmp_path) -> None:
    trust = parse(
        {
            "client-ca-file": Authority(tmp_path, "users").pem,
            "requestheader-username-headers": '["X-Remote-User"]',
        }
    )

    assert trust.headers is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("client-ca-file", "no certificate"),
        ("requestheader-client-ca-file", "no certificate"),
        ("requestheader-allowed-names", "a,b"),
        ("requestheader-allowed-names", '{"a": 1}'),
        ("requestheader-allowed-names", "[1]"),
    ],
)
def test_what_is_malformed_is_refused_whole(tmp_path, key, value) -> None:
    good = {"requestheader-client-ca-file": Authority(tmp_path, "proxies").pem}

    with pytest.raises(Malformed):
        parse({**good, key: value})
